// What the demo does with a server that is up: loads a package, watches it as a client would, and checks what came of it.
import { createReadStream, readFileSync } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { parse } from 'csv-parse';
import {
  cancelDataRunDocument,
  createWorkspaceDocument,
  dataRunDocument,
  dataRunProgressDocument,
  datasetRowsDocument,
  datasetsDocument,
  registerDataRunDocument,
  startDataRunDocument,
  workspaceDocument,
  workspaceEventsDocument,
} from '../client/documents.ts';
import type { DatasetsQuery, EventFieldsFragment, RunFieldsFragment } from '../client/gql/graphql.ts';
import { type Connection, execute } from '../client/request.ts';
import { subscribe } from '../client/resume.ts';
import { percentOf, startBars } from './bars.ts';
import { granted, hasEnded, notFound } from './outcome.ts';
import type { Surroundings } from './surroundings.ts';
import { upload } from './upload.ts';

export interface Check {
  readonly what: string;
  readonly holds: boolean;
}

export interface DemoResult {
  readonly run: RunFieldsFragment;
  readonly datasets: readonly { readonly name: string; readonly rowCount: string }[];
  readonly sample: { readonly dataset: string; readonly fields: readonly string[]; readonly rows: readonly (readonly string[])[] };
  readonly checks: readonly Check[];
}

const lastEventWithinMs = 10_000;

export async function loadExample(
  connection: Connection,
  slug: string,
  folder: string,
  surroundings: Surroundings,
  json: boolean,
): Promise<DemoResult> {
  const workspace = await findOrCreate(connection, slug);
  const done = new AbortController();
  try {
    const events = collectEvents(connection, workspace, done.signal);
    const registered = await register(connection, workspace.id, await upload(connection, workspace.id, folder, surroundings), surroundings);
    const names = registered.steps.map(({ dataset }) => dataset);
    const { isTerminal, note } = surroundings;
    const bars = startBars({ datasets: names, isTerminal: isTerminal && !json, note });
    const reached = new Map<string, number | null>();
    // Each bar has a subscription of its own, as on a dashboard that shows datasets in different places.
    const streams = names.map(async (name) => {
      for await (const { dataRunProgress } of subscribe(connection, dataRunProgressDocument, { id: registered.id })) {
        const step = dataRunProgress.steps.find(({ dataset }) => dataset === name);
        if (step === undefined) continue;
        reached.set(name, percentOf(step));
        bars.show(step);
      }
    });
    try {
      const { startDataRun } = await execute(connection, startDataRunDocument, { input: { dataRunId: registered.id } });
      granted(startDataRun, 'DataRun');
      await Promise.all(streams);
    } finally {
      bars.stop();
    }
    const { dataRun: run } = await execute(connection, dataRunDocument, { id: registered.id });
    if (run === null) throw notFound('data run');
    const seen = await events.until(run.id);
    const datasets = await listDatasets(connection, slug);
    const expected = await rowsOf(folder);
    return {
      run,
      datasets,
      sample: await sampleOf(
        connection,
        datasets.find(({ name }) => name === names.at(-1)),
      ),
      checks: [
        { what: `the run is ${run.state}`, holds: run.state === 'SUCCEEDED' },
        { what: `its data are ${run.readiness.ready ? '' : 'not '}ready`, holds: run.readiness.ready },
        {
          what: 'every dataset has as many rows in the workspace as in its file',
          holds: [...expected].every(([name, rows]) => datasets.find((dataset) => dataset.name === name)?.rowCount === String(rows)),
        },
        {
          what: `${seen.length} events arrived over the subscription, numbered without a gap`,
          holds: seen.length > 0 && seen.every(({ sequence }, index) => sequence === index + 1),
        },
        {
          what: `each of ${names.length} bars reached 100 % over its own subscription`,
          holds: names.every((name) => reached.get(name) === 100),
        },
      ],
    };
  } finally {
    done.abort();
  }
}

interface Found {
  readonly id: string;
  readonly lastEventCursor: string;
}

export async function findOrCreate(connection: Connection, slug: string): Promise<Found> {
  const { workspace } = await execute(connection, workspaceDocument, { slug });
  if (workspace !== null) return workspace;
  const { createWorkspace } = await execute(connection, createWorkspaceDocument, { input: { slug, name: slug } });
  return granted(createWorkspace, 'Workspace');
}

/** A run that an interrupted demo left behind holds its package's name: it is cancelled. */
export async function register(
  connection: Connection,
  workspaceId: string,
  packageId: string,
  { note }: Surroundings,
): Promise<RunFieldsFragment> {
  const input = { workspaceId, packageId };
  const { registerDataRun } = await execute(connection, registerDataRunDocument, { input });
  if (registerDataRun.__typename !== 'ConflictError' || registerDataRun.conflictingId === null) return granted(registerDataRun, 'DataRun');
  note('A demo before this one was interrupted: cancelling its run.');
  const { cancelDataRun } = await execute(connection, cancelDataRunDocument, {
    input: { dataRunId: registerDataRun.conflictingId, reason: 'its demo was interrupted' },
  });
  // It may have ended by itself meanwhile.
  if (cancelDataRun.__typename !== 'InvalidTransitionError') granted(cancelDataRun, 'DataRun');
  const again = await execute(connection, registerDataRunDocument, { input });
  return granted(again.registerDataRun, 'DataRun');
}

interface EventCollector {
  /** The events of a run up to its end, as they arrived. */
  until(runId: string): Promise<EventFieldsFragment[]>;
}

function collectEvents(connection: Connection, { id, lastEventCursor }: Found, signal: AbortSignal): EventCollector {
  const seen: EventFieldsFragment[] = [];
  let wake = () => {};
  const stream = (async () => {
    const variables = { workspace: id, after: lastEventCursor };
    for await (const { workspaceEvents } of subscribe(connection, workspaceEventsDocument, variables, { signal })) {
      seen.push(workspaceEvents);
      wake();
    }
  })();
  const broken = stream.then(() => 'over' as const);
  broken.catch(() => {}); // it throws where it is awaited
  return {
    async until(runId) {
      const ofRun = () => seen.filter(isOfRun).filter(({ dataRun }) => dataRun.id === runId);
      const deadline = AbortSignal.timeout(lastEventWithinMs);
      while (!ofRun().some(({ dataset, to }) => dataset === null && hasEnded(to)) && !deadline.aborted) {
        const next = new Promise<void>((resolve) => {
          wake = resolve;
          deadline.addEventListener('abort', () => resolve(), { once: true });
        });
        if ((await Promise.race([next, broken])) === 'over') break;
      }
      return ofRun();
    },
  };
}

function isOfRun(event: EventFieldsFragment): event is Extract<EventFieldsFragment, { __typename: 'DataRunEvent' }> {
  return event.__typename === 'DataRunEvent';
}

async function listDatasets(connection: Connection, slug: string): Promise<{ id: string; name: string; rowCount: string }[]> {
  const { workspace }: DatasetsQuery = await execute(connection, datasetsDocument, { slug, first: 100 });
  if (workspace === null) throw notFound('workspace');
  return workspace.datasets.edges.map(({ node }) => node);
}

const sampleSize = 3;

async function sampleOf(connection: Connection, dataset: { id: string; name: string } | undefined): Promise<DemoResult['sample']> {
  if (dataset === undefined) throw notFound('dataset');
  const { node } = await execute(connection, datasetRowsDocument, { id: dataset.id, first: sampleSize });
  if (node?.__typename !== 'Dataset') throw notFound('dataset');
  const rows = node.rows.edges.map(({ node: { values } }) => values as Record<string, unknown>); // a row's values are an object by field name
  const fields = Object.keys(rows[0] ?? {});
  return { dataset: node.name, fields, rows: rows.map((row) => fields.map((field) => textOf(row[field]))) };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : value === null || value === undefined ? '' : JSON.stringify(value);
}

interface Descriptor {
  readonly resources: readonly { readonly name: string; readonly path: string }[];
}

/** Counted here and not by the server, so that the two can be compared. */
async function rowsOf(folder: string): Promise<Map<string, number>> {
  const { resources } = JSON.parse(readFileSync(path.join(folder, 'datapackage.json'), 'utf8')) as Descriptor; // our own example
  const counted = new Map<string, number>();
  for (const { name, path: file } of resources) {
    let rows = -1; // the header
    await pipeline(createReadStream(path.join(folder, file)), parse(), async (records) => {
      for await (const _record of records) rows++;
    });
    counted.set(name, rows);
  }
  return counted;
}
