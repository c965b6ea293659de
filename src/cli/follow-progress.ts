// Shows how far a run is until it has ended, and drives it meanwhile if nobody else does.
import { setTimeout as sleep } from 'node:timers/promises';
import { advanceDataRunDocument, dataRunProgressDocument } from '../client/documents.ts';
import type { RunFieldsFragment } from '../client/gql/graphql.ts';
import { type Connection, execute } from '../client/request.ts';
import { subscribe } from '../client/resume.ts';
import { startBars } from './bars.ts';
import { granted, hasEnded } from './outcome.ts';
import type { Surroundings } from './surroundings.ts';

const betweenPassesMs = 500;

export interface FollowOptions {
  readonly surroundings: Surroundings;
  readonly json: boolean;
}

export async function followProgress(connection: Connection, run: RunFieldsFragment, { surroundings, json }: FollowOptions): Promise<void> {
  const { isTerminal, note, out } = surroundings;
  const datasets = run.steps.map(({ dataset }) => dataset);
  const stop = new AbortController();
  const bars = startBars({ datasets, isTerminal: isTerminal && !json, note: json ? () => {} : note });
  const driven = run.driving === 'ON_REQUEST' ? drive(connection, run.id, stop.signal) : Promise.resolve();
  // A failing drive ends the showing; awaited below, where it throws.
  driven.catch(() => stop.abort());
  try {
    for await (const { dataRunProgress } of subscribe(connection, dataRunProgressDocument, { id: run.id }, { signal: stop.signal })) {
      if (json) out(JSON.stringify({ type: 'progress', ...dataRunProgress }));
      for (const step of dataRunProgress.steps) bars.show(step);
    }
  } finally {
    stop.abort();
    bars.stop();
  }
  await driven;
}

/** Pass after pass, until the run has ended or is held. */
async function drive(connection: Connection, dataRunId: string, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { advanceDataRun } = await execute(connection, advanceDataRunDocument, { input: { dataRunId } });
    if (advanceDataRun.__typename !== 'InvalidTransitionError' && hasEnded(granted(advanceDataRun, 'DataRun').state)) return;
    await sleep(betweenPassesMs, undefined, { signal }).catch(() => {});
  }
}
