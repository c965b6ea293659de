// `packhorse plan ID`: what a run would do if it were started now.
import type { Command } from '@commander-js/extra-typings';
import { planDataRunDocument } from '../client/documents.ts';
import type { PlanDataRunMutation } from '../client/gql/graphql.ts';
import { type Connection, execute } from '../client/request.ts';
import { clientCommand, connect } from './connection.ts';
import { exitCode, granted } from './outcome.ts';
import { count, faultTable, missingLine, table } from './print.ts';
import type { Surroundings } from './surroundings.ts';

type Plan = Extract<PlanDataRunMutation['planDataRun'], { readonly __typename: 'DataRunPlan' }>;

export function addPlan(program: Command, surroundings: Surroundings): void {
  clientCommand(program, 'plan', 'tell what a registered run would do, and write nothing')
    .argument('<id>', 'its id')
    .action((id, options) => tellPlan(connect(options, surroundings), id, surroundings, options.json === true));
}

export async function tellPlan(connection: Connection, dataRunId: string, surroundings: Surroundings, json: boolean): Promise<void> {
  const { planDataRun } = await execute(connection, planDataRunDocument, { input: { dataRunId } });
  const plan = granted(planDataRun, 'DataRunPlan');
  const code = outcomeOf(plan);
  if (json) surroundings.out(JSON.stringify({ type: 'plan', dataRunId, plan }));
  else for (const line of linesOf(dataRunId, plan, code)) surroundings.out(line);
  surroundings.finish(code);
}

function outcomeOf({ datasets, blockers }: Plan): number {
  if (datasets.some(({ state }) => state === 'FAILED')) return exitCode.failed;
  return blockers.length > 0 ? exitCode.notReady : exitCode.succeeded;
}

function linesOf(id: string, plan: Plan, code: number): string[] {
  const { datasets, order, blockers, digest } = plan;
  const lacking = datasets.filter(({ authorised }) => !authorised);
  return [
    ...datasetTable(plan),
    ...order.map((wave, index) => `${index + 1}. ${wave.join(', ')}`),
    ...blockers.map((blocker) => `missing: ${missingLine(blocker)}`),
    ...datasets.flatMap(({ dataset, state, failure }) =>
      state === 'FAILED' || failure === null ? [] : [`${dataset}: ${failure.summary} [${failure.code}]`],
    ),
    ...datasets.flatMap(({ rowErrors }) => faultTable(rowErrors)),
    ...lacking.map(({ dataset, target }) => `not yours to start: ${dataset} needs the permission target:${target}`),
    `plan ${digest}`,
    `run ${id} would ${code === exitCode.failed ? 'fail' : `succeed${code === exitCode.notReady ? ', not ready' : ', ready'}`}`,
  ];
}

function datasetTable({ datasets }: Plan): string[] {
  const isHeld = datasets.some(({ account }) => account !== null && account.blocked !== '0');
  const isRemoved = datasets.some(({ removed }) => removed !== '0');
  const head = [
    'ROWS#',
    'INVALID#',
    'NEW#',
    'CHANGED#',
    'UNCHANGED#',
    ...(isHeld ? ['HELD BACK#'] : []),
    ...(isRemoved ? ['REMOVED#'] : []),
  ];
  const rows = datasets.map(({ dataset, target, state, rows: inFile, invalidRows, account, removed }) => {
    const would =
      account === null ? [] : [account.loaded, account.updated, account.unchanged, ...(isHeld ? [account.blocked] : [])].map(count);
    const numbers = [count(inFile), count(invalidRows), ...(account === null ? Array<string>(isHeld ? 4 : 3).fill('') : would)];
    return [dataset, state ?? `by ${target}`, ...numbers, ...(isRemoved ? [count(removed)] : [])];
  });
  return table(['DATASET', 'WOULD BE', ...head], rows);
}
