// Shows how far an export is until it has settled, and waits for its package.
import { exportExecutionDocument, exportExecutionEventsDocument, exportExecutionProgressDocument } from '../client/export-documents.ts';
import type { EventFieldsFragment, ExportFieldsFragment } from '../client/gql/graphql.ts';
import { type Connection, execute } from '../client/request.ts';
import { subscribe } from '../client/resume.ts';
import { type Bars, startBars } from './bars.ts';
import { notFound } from './outcome.ts';
import type { Surroundings } from './surroundings.ts';

export interface FollowExportOptions {
  readonly surroundings: Surroundings;
  readonly json: boolean;
  /** Ends the following; the export goes on. */
  readonly signal?: AbortSignal;
}

/** The export once nothing more is to be waited for; null where the signal came first. */
export async function followExport(connection: Connection, id: string, options: FollowExportOptions): Promise<ExportFieldsFragment | null> {
  await showProgress(connection, id, options);
  const { signal } = options;
  const given = signal === undefined ? {} : { signal };
  while (signal?.aborted !== true) {
    const execution = await readExport(connection, id);
    if (isOver(execution)) return execution;
    // The cursor is of the row that said so: what ends the wait comes after it.
    const variables = { id, after: execution.lastEventCursor };
    for await (const { exportExecutionEvents: event } of subscribe(connection, exportExecutionEventsDocument, variables, given)) {
      if (isEndOfExport(event)) break;
    }
  }
  return null;
}

async function showProgress(connection: Connection, id: string, { surroundings, json, signal }: FollowExportOptions): Promise<void> {
  const { isTerminal, note, out } = surroundings;
  let bars: Bars | null = null;
  try {
    const given = signal === undefined ? {} : { signal };
    for await (const { exportExecutionProgress } of subscribe(connection, exportExecutionProgressDocument, { id }, given)) {
      const { state, datasets } = exportExecutionProgress;
      if (json) out(JSON.stringify({ type: 'progress', ...exportExecutionProgress }));
      else bars ??= startBars({ datasets: datasets.map(({ dataset }) => dataset), isTerminal, note });
      for (const one of datasets) bars?.show({ ...one, state });
    }
  } finally {
    bars?.stop();
  }
}

export async function readExport(connection: Connection, id: string): Promise<ExportFieldsFragment> {
  const { exportExecution } = await execute(connection, exportExecutionDocument, { id });
  if (exportExecution === null) throw notFound('export');
  return exportExecution;
}

/** It settled, and its package, where it has one, is no longer on its way. */
export function isOver({ state, exportPackage }: Pick<ExportFieldsFragment, 'state' | 'exportPackage'>): boolean {
  if (state === 'SUCCEEDED') return exportPackage !== null && exportPackage.state !== 'PENDING';
  return state === 'FAILED' || state === 'CANCELLED';
}

const ends = new Set(['FAIL', 'CANCEL', 'PUBLISH', 'PUBLISH_FAIL']);

/** Deliveries come after the end. */
export function isEndOfExport(event: EventFieldsFragment): boolean {
  return event.__typename === 'ExportExecutionEvent' && event.destination === null && ends.has(event.action);
}
