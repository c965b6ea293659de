// What the demo does after loading: exports the workspace, checks the archive, loads it into another workspace, and exports that.
import { startDataRunDocument } from '../client/documents.ts';
import { cancelExportExecutionDocument, requestWorkspaceExportDocument } from '../client/export-documents.ts';
import type { ExportFieldsFragment, RunFieldsFragment } from '../client/gql/graphql.ts';
import { type Connection, execute } from '../client/request.ts';
import { type Check, findOrCreate, register } from './demo-load.ts';
import { download } from './download.ts';
import { followExport } from './follow-export.ts';
import { followProgress } from './follow-progress.ts';
import { readRun } from './load.ts';
import { granted } from './outcome.ts';
import type { Surroundings } from './surroundings.ts';
import { upload } from './upload.ts';

export interface ExportedDemo {
  /** Where the archive is. */
  readonly file: string;
  /** By workspace: how many rows of how many datasets, and the manifest's digest. */
  readonly digests: readonly { readonly workspace: string; readonly rows: string; readonly digest: string | null }[];
  readonly checks: readonly Check[];
}

export interface ExportOptions {
  readonly slug: string;
  readonly copy: string;
  /** The archive's place on this machine. */
  readonly file: string;
  /** What `packhorse verify` says of it: what is wrong, as sentences. */
  readonly verify: (file: string) => Promise<readonly string[]>;
}

/** Bars go to stderr, whatever else is asked for. */
export async function exportExample(
  connection: Connection,
  { slug, copy, file, verify }: ExportOptions,
  surroundings: Surroundings,
): Promise<ExportedDemo> {
  const { note } = surroundings;
  note(`Exporting ${slug}:`);
  const first = await exported(connection, slug, surroundings);
  if (first.exportPackage?.state !== 'PUBLISHED') return { file, digests: [digestOf(first)], checks: [publishedCheck(first)] };
  await download(connection, first.exportPackage, file, { note });
  const faults = await verify(file);
  note(`Loading ${file} into the workspace ${copy}:`);
  const run = await loaded(connection, copy, file, surroundings);
  note(`Exporting ${copy}:`);
  const second = await exported(connection, copy, surroundings);
  return {
    file,
    digests: [digestOf(first), digestOf(second)],
    checks: [
      publishedCheck(first),
      {
        what: `its archive ${faults.length === 0 ? 'is verified: files, rows, digest, signature' : `is not what it should be: ${faults.join(' ')}`}`,
        holds: faults.length === 0,
      },
      { what: `loading the archive into ${copy} ${run.state}`, holds: run.state === 'SUCCEEDED' && run.readiness.ready },
      publishedCheck(second),
      {
        what: `the manifests of ${slug} and ${copy} have ${first.manifestDigest === second.manifestDigest ? 'one digest' : 'two digests'}`,
        holds: first.manifestDigest !== null && first.manifestDigest === second.manifestDigest,
      },
    ],
  };
}

async function exported(connection: Connection, slug: string, surroundings: Surroundings): Promise<ExportFieldsFragment> {
  const { id } = await findOrCreate(connection, slug);
  const requested = await request(connection, id, surroundings);
  const ended = await followExport(connection, requested.id, { surroundings, json: false });
  if (ended === null) throw new Error('following an export ended without a signal');
  return ended;
}

/** An export that an interrupted demo left behind goes on with its server, and is in the way: it is cancelled. */
async function request(connection: Connection, workspaceId: string, { note }: Surroundings): Promise<ExportFieldsFragment> {
  const input = { workspaceId };
  const { requestWorkspaceExport: answer } = await execute(connection, requestWorkspaceExportDocument, { input });
  if (answer.__typename !== 'ConflictError' || answer.conflictingId === null) return granted(answer, 'ExportExecution');
  note('A demo before this one was interrupted: cancelling its export.');
  const { cancelExportExecution } = await execute(connection, cancelExportExecutionDocument, {
    input: { exportExecutionId: answer.conflictingId, reason: 'its demo was interrupted' },
  });
  // It may have ended by itself meanwhile.
  if (cancelExportExecution.__typename !== 'InvalidTransitionError') granted(cancelExportExecution, 'ExportExecution');
  const again = await execute(connection, requestWorkspaceExportDocument, { input });
  return granted(again.requestWorkspaceExport, 'ExportExecution');
}

async function loaded(connection: Connection, slug: string, file: string, surroundings: Surroundings): Promise<RunFieldsFragment> {
  const { id } = await findOrCreate(connection, slug);
  const registered = await register(connection, id, await upload(connection, id, file, surroundings), surroundings);
  const { startDataRun } = await execute(connection, startDataRunDocument, { input: { dataRunId: registered.id } });
  await followProgress(connection, granted(startDataRun, 'DataRun'), { surroundings, json: false });
  return readRun(connection, registered.id);
}

function publishedCheck({ workspace, state, exportPackage, failure }: ExportFieldsFragment): Check {
  const why = failure ?? exportPackage?.failure ?? null;
  return {
    what: `the export of ${workspace.slug} is ${exportPackage?.state ?? state}${why === null ? '' : `: ${why.summary}`}`,
    holds: exportPackage?.state === 'PUBLISHED',
  };
}

function digestOf({ workspace, counts, manifestDigest }: ExportFieldsFragment): ExportedDemo['digests'][number] {
  const rows = counts.reduce((total, count) => total + BigInt(count.rows), 0n).toLocaleString('en');
  return { workspace: workspace.slug, rows, digest: manifestDigest };
}
