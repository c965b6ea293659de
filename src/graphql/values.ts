// The small types that runs and exports share in the API.
import type { Failure } from '../errors.ts';
import type { DownloadLink, Hold, Progress } from '../shown.ts';
import { builder } from './builder.ts';

export const progressType = builder.objectRef<Progress>('Progress').implement({
  description: 'How far something is.',
  fields: (t) => ({
    done: t.expose('done', { type: 'BigInt', description: 'How much is done, in `unit`.' }),
    total: t.expose('total', { type: 'BigInt', nullable: true, description: 'How much there is, in `unit`; null where it is not known.' }),
    totalIsExact: t.exposeBoolean('totalIsExact', { description: 'False: the total is an estimate.' }),
    unit: t.exposeString('unit', { description: 'What is counted: `bytes` of the package’s files, or `rows`.' }),
  }),
});

export const holdType = builder.objectRef<Hold>('Hold').implement({
  description: 'An unmet condition: why something does not move.',
  fields: (t) => ({
    code: t.exposeString('code', { description: 'A stable code, for programs.' }),
    subject: t.exposeString('subject', { description: 'What waits: `run`, `export`, or a dataset’s name.' }),
    message: t.exposeString('message', { description: 'One sentence, for people.' }),
    since: t.expose('since', { type: 'DateTime', description: 'Since when.' }),
    remedy: t.exposeString('remedy', { description: 'What would help.' }),
  }),
});

export const failureType = builder.objectRef<Failure>('Failure').implement({
  description: 'Why work came to nothing.',
  fields: (t) => ({
    code: t.exposeString('code', { description: 'A stable code, for programs.' }),
    origin: t.exposeString('origin', { description: 'Whose fault: package, data, target, storage, database, authority or system.' }),
    phase: t.exposeString('phase', { description: 'What was being done.' }),
    retryable: t.exposeBoolean('retryable', { description: 'Whether the same again may succeed.' }),
    summary: t.exposeString('summary', { description: 'One or two sentences, for people.' }),
  }),
});

export const downloadLink = builder.objectRef<DownloadLink>('DownloadLink').implement({
  description: 'A signed link to an archive. Whoever holds it may fetch it with GET; that of an export also in ranges.',
  fields: (t) => ({
    url: t.exposeString('url', { description: 'The link.' }),
    expiresAt: t.expose('expiresAt', { type: 'DateTime', description: 'When it ends.' }),
  }),
});

/** A failure column as it is stored: written by us only, in this shape. */
export function storedFailure(value: unknown): Failure | null {
  return value === null || value === undefined ? null : (value as Failure);
}
