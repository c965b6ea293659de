// The list of 50 runs with 12 steps each, at 8 connections, against a bare server that has Postgres build the same answer.
import type { PostgresServer } from '../src/postgres/embedded.ts';
import { alternate, freshDatabase, packhorse, post, rate, seedRuns, serverProcess, token } from './support.ts';

const rounds = 5;
const each = 150;

const query = `query ($slug: String!) { workspace(slug: $slug) { dataRuns(first: 50) { edges { node { id state lastEventCursor package { name }
  steps { dataset state progress { done total } rows { loaded } } } } } } }`;

export async function benchList(postgres: PostgresServer, home: string): Promise<void> {
  const url = await freshDatabase(postgres, 'bench_list');
  await seedRuns(url, 500, 12);
  const ours = await packhorse(url, home);
  const bare = await serverProcess(['--import', 'tsx', 'bench/bare-server.ts'], { DATABASE_URL: url });
  const authorization = await token();
  const list = async () => {
    const answer = await post(`${ours.url}/graphql`, JSON.stringify({ query, variables: { slug: 'bench' } }), authorization);
    if (answer.split('"dataset"').length !== 601) throw new Error(answer.slice(0, 500));
  };
  const bareList = async () => {
    const answer = await post(`${bare.url}/list`, JSON.stringify({ value: 'bench' }), authorization);
    if (answer.split('"dataset"').length !== 601) throw new Error(answer.slice(0, 500));
  };
  const run = (one: () => Promise<void>) => () =>
    rate(
      Array.from({ length: each }, () => one),
      8,
    );
  try {
    await run(list)();
    await run(bareList)(); // warm
    const result = await alternate(rounds, run(list), run(bareList));
    console.log(
      `  packhorse ${result.ours.toFixed(0)}/s, bare node:http + pg ${result.theirs.toFixed(0)}/s: ratio ${(result.ours / result.theirs).toFixed(2)}`,
    );
  } finally {
    await ours.stop();
    await bare.stop();
  }
}
