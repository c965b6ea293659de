// The rows that a run left out, as a data package: to be read, mended and loaded again. docs/decisions/0020-rejected-rows.md
import { PassThrough, Readable } from 'node:stream';
import type pg from 'pg';
import { ZipFile } from 'yazl';
import type { Caller } from '../auth/caller.ts';
import { isRevoked } from '../auth/revocation.ts';
import { isSignatureOf, signText } from '../auth/signed-text.ts';
import { demand } from '../auth/viewer.ts';
import { ConflictError, GoneError, InvalidInputError, NotFoundError } from '../errors.ts';
import type { Packages } from '../packages/operations.ts';
import { csvCell } from '../records/csv-cell.ts';
import { type RejectedDataset, rejectedDatasets, rejectedRows } from '../records/rejects.ts';
import type { DownloadLink } from '../shown.ts';
import { findRun } from './operations.ts';

const longestSeconds = 86_400;

/** Holds for the caller's own access: taken back, the link gives nothing. Throws ConflictError where no row was left out, or is kept. */
export async function issueRejectedRowsLink(packages: Packages, caller: Caller, runId: string, seconds: number): Promise<DownloadLink> {
  const { db, secret, publicUrl } = packages;
  const run = await findRun(db, caller, runId);
  demand(caller.viewer, 'workspace:read');
  if (seconds < 1 || seconds > longestSeconds)
    throw new InvalidInputError('expiresInSeconds', `A link holds for 1 to ${longestSeconds} seconds.`);
  if ((await rejectedDatasets(db.pool, runId)).length === 0) {
    const left = await db.prisma.dataRunStep.count({ where: { runId, rowsRejected: { gt: 0 }, state: { in: ['SUCCEEDED', 'BLOCKED'] } } });
    if (left === 0) throw new ConflictError('NO_REJECTED_ROWS', 'This run has left no row out.');
    throw new ConflictError('REJECTED_ROWS_GONE', 'The rows that this run left out are not kept here (any more). Load the package again.');
  }
  const { slug } = await db.prisma.workspace.findUniqueOrThrow({ where: { id: run.workspaceId }, select: { slug: true } });
  const expires = Math.floor(Date.now() / 1_000) + seconds;
  const by = Buffer.from(caller.viewer.subject).toString('base64url');
  const unsigned = `/rejected-rows/${runId}/${slug}.zip?expires=${expires}&by=${by}`;
  const url = `${publicUrl()}${unsigned}&signature=${signText(secret, `GET ${unsigned}`)}`;
  return { url, expiresAt: new Date(expires * 1_000) };
}

// The signature is of the text, so that there is one way only to write a link.
const form =
  /^(\/rejected-rows\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/[a-z0-9-]+\.zip\?expires=(\d{1,12})&by=([\w-]*))&signature=([\w-]+)$/;

/** By what follows the server's address. NotFoundError where it was never ours or access was taken back, GoneError where it gives no more. */
export async function openRejectedRows({ db, secret }: Packages, target: string): Promise<Readable> {
  const [, unsigned = '', runId = '', expires, by = '', signature = ''] = form.exec(target) ?? [];
  if (!isSignatureOf(secret, `GET ${unsigned}`, signature)) throw new NotFoundError('download');
  const run = await db.prisma.dataRun.findUnique({ where: { id: runId }, select: { workspaceId: true, packageName: true } });
  if (run === null || (await isRevoked(db.prisma, run.workspaceId, Buffer.from(by, 'base64url').toString())))
    throw new NotFoundError('download');
  if (Number(expires) * 1_000 <= Date.now()) throw new GoneError('LINK_EXPIRED', 'This link has expired. Ask for a new one.');
  const datasets = await rejectedDatasets(db.pool, runId);
  if (datasets.length === 0) throw new GoneError('REJECTED_ROWS_GONE', 'These rows are no longer kept. Load the package again.');
  return packed(db.pool, run.packageName, datasets);
}

/** One of them a dataset, all of them text: a value that is of no type cannot be of its own. */
function packed(pool: pg.Pool, packageName: string, datasets: readonly RejectedDataset[]): Readable {
  const zip = new ZipFile();
  const output = new PassThrough();
  zip.outputStream.pipe(output);
  // The DOS time has no zone, and is taken from the local clock.
  const fixed = { mtime: new Date(2000, 0, 1), mode: 0o100644, forceDosTimestamp: true };
  zip.addBuffer(Buffer.from(`${JSON.stringify(descriptorOf(packageName, datasets), null, 2)}\n`), 'datapackage.json', fixed);
  for (const [at, dataset] of datasets.entries()) {
    zip.addReadStreamLazy(pathOf(at), fixed, (give) => {
      // yazl does not listen: unheard, an error would end the process.
      give(
        null,
        Readable.from(csvOf(pool, dataset)).on('error', (error) => output.destroy(error)),
      );
    });
  }
  zip.end();
  return output;
}

/** By its place: what a dataset is called need not be a name for a file. */
const pathOf = (at: number) => `data/${at + 1}.csv`;

const own = ['row', 'reason', 'record'] as const;

/** The names of our columns; with as many underscores as it takes to be no field of the dataset's. */
function columnsOf({ fields }: RejectedDataset): readonly string[] {
  const before = (name: string): string => (fields.includes(name) ? before(`_${name}`) : name);
  return [...own.map((name) => before(`_${name}`)), ...fields];
}

const descriptions = ['The row’s place in the file, from 1.', 'What is wrong with it.', 'The row as JSON, where it has no fields.'];

function descriptorOf(packageName: string, datasets: readonly RejectedDataset[]) {
  return {
    $schema: 'https://datapackage.org/profiles/2.0/datapackage.json',
    name: `${packageName}-rejected-rows`,
    resources: datasets.map((dataset, at) => ({
      name: dataset.dataset,
      path: pathOf(at),
      format: 'csv',
      mediatype: 'text/csv',
      encoding: 'utf-8',
      schema: {
        fields: columnsOf(dataset).map((name, column) => ({
          name,
          type: column === 0 ? 'integer' : 'string',
          ...(column < own.length ? { description: descriptions[column] } : {}),
        })),
      },
    })),
  };
}

async function* csvOf(pool: pg.Pool, dataset: RejectedDataset): AsyncGenerator<string> {
  const line = (cells: readonly string[]) => `${cells.map(csvCell).join(',')}\n`;
  yield line(columnsOf(dataset));
  const none = dataset.fields.map(() => null);
  for await (const rows of rejectedRows(pool, dataset)) {
    yield rows
      .map(({ n, reason, record, cells }) => line([n, reason, record ?? '', ...(cells ?? none).map((cell) => cell ?? '')]))
      .join('');
  }
}
