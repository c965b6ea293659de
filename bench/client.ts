// What the benchmarks ask of a server, as any client would: through the API.
import { post, token } from './support.ts';

export interface LoadSeconds {
  /** Before it was started. */
  readonly planned: number;
  readonly loaded: number;
}

export interface BenchClient {
  ask(query: string, variables: object): Promise<any>;
  /** Its global id. */
  workspace(slug: string): Promise<string>;
  /** Seconds from start to SUCCEEDED; staging and registering are not counted, as psql has its file at hand. */
  load(workspaceId: string, archive: Buffer): Promise<LoadSeconds>;
  /** Seconds; of the newest run that was not reset yet. */
  reset(workspaceId: string): Promise<number>;
}

export async function clientOf(url: string): Promise<BenchClient> {
  const authorization = await token();
  const ask = async (query: string, variables: object) => {
    const { data, errors } = JSON.parse(await post(`${url}/graphql`, JSON.stringify({ query, variables }), authorization));
    if (errors !== undefined) throw new Error(JSON.stringify(errors));
    return data;
  };
  return {
    ask,
    async workspace(slug) {
      const data = await ask('mutation ($i: CreateWorkspaceInput!) { createWorkspace(input: $i) { ... on Workspace { id } } }', {
        i: { slug, name: slug },
      });
      return data.createWorkspace.id;
    },
    async load(workspaceId, archive) {
      const { stagePackage } = await ask(
        'mutation ($i: StagePackageInput!) { stagePackage(input: $i) { ... on StagedPackage { packageId uploadUrl } } }',
        { i: { workspaceId } },
      );
      const uploaded = await fetch(stagePackage.uploadUrl, { method: 'PUT', body: new Uint8Array(archive) });
      if (!uploaded.ok) throw new Error(await uploaded.text());
      const { registerDataRun } = await ask(
        'mutation ($i: RegisterDataRunInput!) { registerDataRun(input: $i) { __typename ... on DataRun { id } ... on Error { message } } }',
        { i: { workspaceId, packageId: stagePackage.packageId } },
      );
      const planning = performance.now();
      const { planDataRun } = await ask(
        'mutation ($i: PlanDataRunInput!) { planDataRun(input: $i) { __typename ... on Error { message } } }',
        {
          i: { dataRunId: registerDataRun.id },
        },
      );
      if (planDataRun.__typename !== 'DataRunPlan') throw new Error(JSON.stringify(planDataRun));
      const began = performance.now();
      await ask('mutation ($i: StartDataRunInput!) { startDataRun(input: $i) { __typename } }', { i: { dataRunId: registerDataRun.id } });
      for (;;) {
        const { dataRun } = await ask('query ($id: ID!) { dataRun(id: $id) { state failure { summary } } }', { id: registerDataRun.id });
        const loaded = (performance.now() - began) / 1_000;
        if (dataRun.state === 'SUCCEEDED') return { planned: (began - planning) / 1_000, loaded };
        if (dataRun.state !== 'RUNNING') throw new Error(JSON.stringify(dataRun));
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    async reset(workspaceId) {
      const { node } = await ask('query ($id: ID!) { node(id: $id) { ... on Workspace { dataRuns { edges { node { id resetAt } } } } } }', {
        id: workspaceId,
      });
      const began = performance.now();
      const { resetDataRun } = await ask(
        'mutation ($i: ResetDataRunInput!) { resetDataRun(input: $i) { __typename ... on Error { message } } }',
        {
          i: { dataRunId: node.dataRuns.edges.find((edge: any) => edge.node.resetAt === null).node.id },
        },
      );
      if (resetDataRun.__typename !== 'DataRun') throw new Error(JSON.stringify(resetDataRun));
      return (performance.now() - began) / 1_000;
    },
  };
}
