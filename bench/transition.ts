// A lifecycle mutation (pause) at 32 connections, against a bare server that makes the same move in one statement.
import type { PostgresServer } from '../src/postgres/embedded.ts';
import { alternate, freshDatabase, packhorse, post, rate, seedRuns, serverProcess, token } from './support.ts';

const rounds = 5;
const each = 1_500;

const mutation =
  'mutation ($input: PauseDataRunInput!) { pauseDataRun(input: $input) { __typename ... on DataRun { id state } ... on Error { message } } }';

export async function benchTransition(postgres: PostgresServer, home: string): Promise<void> {
  const url = await freshDatabase(postgres, 'bench_transition');
  const ids = await seedRuns(url, (2 * rounds + 2) * each, 3);
  const ours = await packhorse(url, home);
  const bare = await serverProcess(['--import', 'tsx', 'bench/bare-server.ts'], { DATABASE_URL: url });
  const authorization = await token();
  const take = () => ids.splice(0, each);
  const pause = async (id: string) => {
    const input = { dataRunId: Buffer.from(`DataRun:${id}`).toString('base64') };
    const answer = await post(`${ours.url}/graphql`, JSON.stringify({ query: mutation, variables: { input } }), authorization);
    if (!answer.includes('"PAUSED"')) throw new Error(answer);
  };
  const barePause = async (id: string) => {
    const answer = await post(`${bare.url}/pause`, JSON.stringify({ value: id }), authorization);
    if (!answer.includes('"id"')) throw new Error(answer);
  };
  const run = (one: (id: string) => Promise<void>) => () =>
    rate(
      take().map((id) => () => one(id)),
      32,
    );
  try {
    await run(pause)();
    await run(barePause)(); // warm
    const result = await alternate(rounds, run(pause), run(barePause));
    console.log(
      `  packhorse ${result.ours.toFixed(0)}/s, bare node:http + pg ${result.theirs.toFixed(0)}/s: ratio ${(result.ours / result.theirs).toFixed(2)}`,
    );
  } finally {
    await ours.stop();
    await bare.stop();
  }
}
