// Plans asked for through the API, and held against what the run then really does.
import { expect } from 'vitest';
import type { TestApp } from '../support/app.ts';
import { registered } from '../support/states.ts';
import { mutate, type Resource, reach } from '../support/story.ts';

export const planFields = `order blockers { code dataset message count sampleKeys clearedBy } digest
  datasets { dataset rows invalidRows target authorised state removed failure { code origin phase retryable summary }
    rowErrors { row field code message } rowErrorCount account { source loaded updated unchanged rejected blocked unprocessed } }`;

/** The answer's union member. */
export async function plan(app: TestApp, dataRunId: string, token?: string): Promise<any> {
  const { data, errors } = await app.graphql(
    `mutation ($input: PlanDataRunInput!) { planDataRun(input: $input) { __typename ... on DataRunPlan { ${planFields} }
      ... on Error { code message } ... on ForbiddenError { permission } ... on InvalidTransitionError { from action allowed } } }`,
    { input: { dataRunId } },
    token,
  );
  expect(errors).toEqual([]);
  return data.planDataRun;
}

export async function planned(app: TestApp, dataRunId: string): Promise<any> {
  const made = await plan(app, dataRunId);
  expect(made.__typename, JSON.stringify(made)).toBe('DataRunPlan');
  return made;
}

async function rowCounts(app: TestApp, workspaceId: string): Promise<Record<string, number>> {
  const { data } = await app.graphql(
    'query ($id: ID!) { node(id: $id) { ... on Workspace { datasets(first: 100) { edges { node { name rowCount } } } } } }',
    { id: workspaceId },
  );
  return Object.fromEntries(data.node.datasets.edges.map(({ node }: any) => [node.name, Number(node.rowCount)]));
}

/** Settled, with none of its children at work any more. */
async function settled(app: TestApp, id: string, timeout: number): Promise<any> {
  await expect
    .poll(
      async () => {
        const { data } = await app.graphql('query ($id: ID!) { dataRun(id: $id) { state steps { state } } }', { id });
        const { state, steps } = data.dataRun;
        return ['SUCCEEDED', 'FAILED'].includes(state) && !steps.some((step: any) => ['SUBMITTING', 'ACTIVE'].includes(step.state));
      },
      { timeout, interval: 25 },
    )
    .toBe(true);
  const { data, errors } = await app.graphql(
    `query ($id: ID!) { dataRun(id: $id) { state readiness { ready blockers { code dataset message count sampleKeys clearedBy } }
      steps { dataset state failure { code origin phase retryable summary } rowErrors { row field code message } rowErrorCount
        rows { source loaded updated unchanged rejected blocked unprocessed } } } }`,
    { id },
  );
  expect(errors).toEqual([]);
  return data.dataRun;
}

/** Plans the registered run, starts it with the plan's digest, and expects of it all that the plan said. The run, and its plan. */
export async function keepsItsWord(app: TestApp, workspaceId: string, id: string, timeout = 30_000): Promise<any> {
  const before = await rowCounts(app, workspaceId);
  const made = await planned(app, id);
  const started = await mutate(app, 'startDataRun', { dataRunId: id, planDigest: made.digest });
  expect(started.__typename, JSON.stringify(started)).toBe('DataRun');
  const run = await settled(app, id, timeout);
  const after = await rowCounts(app, workspaceId);
  const said = made.datasets.map(({ dataset, state, account, failure, rowErrors, rowErrorCount }: any) => ({
    dataset,
    state,
    rows: account,
    failure: state === 'FAILED' ? failure : null,
    // Of what the run does not come to, a plan tells the faults all the same.
    rowErrors: account.source === '0' ? [] : rowErrors,
    rowErrorCount: account.source === '0' ? '0' : rowErrorCount,
  }));
  expect(said).toEqual(run.steps);
  for (const { dataset, state, account, removed } of made.datasets) {
    const left = (after[dataset] ?? 0) - (before[dataset] ?? 0);
    if (state === 'SUCCEEDED' || state === 'BLOCKED') expect(Number(account.loaded) - Number(removed), dataset).toBe(left);
    else expect(left, dataset).toBe(0);
  }
  const inFull = ({ code }: any) => ['MISSING_REFERENCE', 'DEPENDENCY_BLOCKED', 'ROWS_REJECTED'].includes(code);
  expect(made.blockers.filter(inFull)).toEqual(run.readiness.blockers.filter(inFull));
  expect(made.blockers.map(({ code, dataset }: any) => [code, dataset])).toEqual(
    run.readiness.blockers.map(({ code, dataset }: any) => [code, dataset]),
  );
  return { ...run, plan: made };
}

export async function loaded(app: TestApp, workspaceId: string, resources: readonly Resource[]): Promise<void> {
  const id = await registered(app, workspaceId, resources);
  await mutate(app, 'startDataRun', { dataRunId: id });
  await reach(app, id, 'SUCCEEDED');
}

export type FieldSpec = readonly [name: string, type: string, constraints?: object];
/** A resource of typed fields. */
export const of = (name: string, rows: string, fields: readonly FieldSpec[], more: object = {}): Resource => ({
  name,
  rows,
  schema: { fields: fields.map(([field, type, constraints = {}]) => ({ name: field, type, constraints })), ...more },
});

export const refers = (resource: string, fields = 'parent', target = 'id') => ({
  foreignKeys: [{ fields, reference: { resource, fields: target } }],
});
