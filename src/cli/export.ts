// `packhorse export --workspace W`: from the rows of a workspace to a package on this machine.
import type { Command } from '@commander-js/extra-typings';
import { workspaceDocument } from '../client/documents.ts';
import { requestWorkspaceExportDocument } from '../client/export-documents.ts';
import type { ExportFieldsFragment } from '../client/gql/graphql.ts';
import { type Connection, execute } from '../client/request.ts';
import { clientCommand, connect } from './connection.ts';
import { download, issueLink } from './download.ts';
import { followExport } from './follow-export.ts';
import { exitCode, granted, notFound, outcomeOfExport, Refusal } from './outcome.ts';
import { count, table } from './print.ts';
import { stopRequested } from './serve.ts';
import type { Surroundings } from './surroundings.ts';
import { refuseUnlessWritable } from './to-file.ts';

export function addExport(program: Command, surroundings: Surroundings): void {
  clientCommand(program, 'export', 'export a workspace as a data package: request, wait until it is published, download')
    .requiredOption('--workspace <slug>', 'what to export')
    .option('--out <file>', 'download it to here; without it, a link is printed')
    .option('--no-wait', 'only request it, and print its id')
    .option('--idempotency-key <key>', 'the same key gives the first export again, for 24 hours')
    .action(async ({ workspace: slug, out: file, wait, idempotencyKey, json = false, ...given }) => {
      if (file !== undefined && !wait)
        throw new Refusal('USAGE', 'There is nothing to download without waiting: leave out --out or --no-wait.');
      if (file !== undefined) await refuseUnlessWritable(file);
      const { out, note, finish } = surroundings;
      const connection = connect(given, surroundings);
      const { workspace } = await execute(connection, workspaceDocument, { slug });
      if (workspace === null) throw notFound('workspace');
      const { requestWorkspaceExport } = await execute(connection, requestWorkspaceExportDocument, {
        input: { workspaceId: workspace.id, idempotencyKey: idempotencyKey ?? null },
      });
      const requested = granted(requestWorkspaceExport, 'ExportExecution');
      if (json) out(JSON.stringify({ type: 'requested', export: requested }));
      else note(`export ${requested.id} of ${slug} is ${requested.state}, as of ${requested.cutoff}`);
      if (!wait) {
        if (!json) out(requested.id);
        return finish(exitCode.succeeded);
      }
      for (const line of json ? [] : waitingLines(requested)) note(line);
      const stop = new AbortController();
      const abort = () => stop.abort();
      stopRequested().then(abort, abort);
      try {
        const ended = await followExport(connection, requested.id, { surroundings, json, signal: stop.signal });
        if (ended === null) {
          note(`Stopped waiting. The export goes on: watch ${requested.id} follows it, cancel ${requested.id} ends it.`);
          return finish(exitCode.interrupted);
        }
        const published = ended.exportPackage?.state === 'PUBLISHED' ? ended.exportPackage : null;
        if (published !== null && file !== undefined) await download(connection, published, file, { note, signal: stop.signal });
        await reportExport(connection, ended, surroundings, { json, file: published === null ? null : (file ?? null) });
        if (file !== undefined && ended.exportPackage?.state === 'EXPIRED')
          throw new Refusal('PACKAGE_EXPIRED', 'That export is no longer kept. Request another one, with another key.');
        finish(outcomeOfExport(ended));
      } catch (error) {
        if (!stop.signal.aborted) throw error;
        note(`Stopped the download. run ${requested.id} gives a link to the export.`);
        finish(exitCode.interrupted);
      }
    });
}

export interface ReportExportOptions {
  readonly json: boolean;
  /** Where it was downloaded to; null: a link is given instead, where there is one. */
  readonly file: string | null;
}

/** What became of an export: the rows of each dataset, where it is, and why where it is not all well. */
export async function reportExport(
  connection: Connection,
  execution: ExportFieldsFragment,
  { out }: Surroundings,
  { json, file }: ReportExportOptions,
): Promise<void> {
  const link = file === null ? await linkTo(connection, execution) : null;
  if (json) return out(JSON.stringify({ type: 'export', export: execution, file, link }));
  const { counts, manifestDigest, exportPackage } = execution;
  if (counts.length > 0) for (const line of countTable(counts)) out(line);
  for (const line of explanationOfExport(execution)) out(line);
  if (manifestDigest !== null) out(`digest     ${manifestDigest}`);
  if (exportPackage?.state === 'PUBLISHED')
    out(`archive    ${count(exportPackage.bytes ?? '0')} bytes, kept until ${exportPackage.expiresAt}`);
  if (file !== null) out(`file       ${file}`);
  if (link !== null) out(`link       ${link.url} until ${link.expiresAt}`);
  out(`${execution.state}${exportPackage === null ? '' : `, ${exportPackage.state}`}`);
}

function countTable(counts: ExportFieldsFragment['counts']): string[] {
  const rows = counts.map(({ dataset, rows: exported, bytes }) => [dataset, count(exported), count(bytes)]);
  return table(['DATASET', 'ROWS#', 'BYTES#'], rows);
}

function explanationOfExport(execution: ExportFieldsFragment): string[] {
  const { state, progress, failure, exportPackage } = execution;
  return [
    ...(state === 'RUNNING' ? [`written    ${count(progress.done)} of ${count(progress.total ?? '0')} rows`] : []),
    ...(failure === null ? [] : [`failed: ${failure.summary} [${failure.code}]`]),
    ...(exportPackage?.failure ? [`package failed: ${exportPackage.failure.summary} [${exportPackage.failure.code}]`] : []),
    ...(exportPackage?.deliveries ?? []).map(({ destination, state: delivered, attempts, failure: why }) => {
      const tries = attempts === 1 ? '1 attempt' : `${attempts} attempts`;
      return `delivery   ${destination}: ${delivered} after ${tries}${why === null ? '' : `: ${why.summary} [${why.code}]`}`;
    }),
    ...waitingLines(execution),
  ];
}

function waitingLines({ whyNotRunning }: ExportFieldsFragment): string[] {
  return whyNotRunning.map(({ subject, message, remedy }) => `waiting: ${subject}: ${message} ${remedy}`);
}

/** null also for whoever may see the export and not take it away. */
async function linkTo(
  connection: Connection,
  { exportPackage }: ExportFieldsFragment,
): Promise<{ readonly url: string; readonly expiresAt: string } | null> {
  if (exportPackage?.state !== 'PUBLISHED') return null;
  return issueLink(connection, exportPackage.id).catch((error: unknown) => {
    if (error instanceof Refusal && error.code === 'FORBIDDEN') return null;
    throw error;
  });
}
