// Pages of the log in the API, from either end.
import { beforeAll, expect, it } from 'vitest';
import { encodeCursor } from '../../src/events/cursor.ts';
import { pruneEvents } from '../../src/events/retention.ts';
import { globalId } from '../../src/graphql/builder.ts';
import { startApp } from '../support/app.ts';
import { makeYard, write, type Yard } from './writing.ts';

const app = await startApp({ worker: false });
const { db } = app.app;

let yard: Yard;
beforeAll(async () => {
  yard = await makeYard(db, 2);
  const [one = '', other = ''] = yard.runs;
  for (let n = 0; n < 6; n++) await write(db, n % 2 === 0 ? one : other, `event ${n}`);
});

const page = '{ edges { cursor } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } }';
const query = `query ($id: ID!, $last: Int, $before: String) {
  node(id: $id) { ... on Workspace { events(first: 100) ${page} pastEvents(last: $last, before: $before) ${page} } } }`;

const cursor = (position: number | bigint) => encodeCursor(yard.workspaceId, BigInt(position));
const ask = (variables: object) => app.graphql(query, { id: globalId('Workspace', yard.workspaceId), ...variables });
const cursorsOf = ({ edges }: { edges: { cursor: string }[] }) => edges.map((edge) => edge.cursor);
async function read(variables: object) {
  const { data, errors } = await ask(variables);
  expect(errors).toEqual([]);
  const { events, pastEvents } = data.node;
  return { all: cursorsOf(events), cursors: cursorsOf(pastEvents), pageInfo: pastEvents.pageInfo };
}

it('gives the newest from the end, and what came before them, oldest first', async () => {
  const { all } = await read({});
  expect(all.length).toBeGreaterThanOrEqual(6);
  const [end, before] = [all.slice(-2), all.slice(-4, -2)];
  const last = await read({ last: 2 });
  expect(last.cursors).toEqual(end);
  expect(last.pageInfo).toEqual({ hasNextPage: false, hasPreviousPage: true, startCursor: end[0], endCursor: end[1] });
  const earlier = await read({ last: 2, before: last.pageInfo.startCursor });
  expect(earlier.cursors).toEqual(before);
  expect(earlier.pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: true });
  expect((await read({ before: end[0] })).cursors).toEqual(all.slice(0, -2));
  const first = await read({ last: all.length - 2, before: end[0] });
  expect([first.cursors, first.pageInfo.hasPreviousPage]).toEqual([all.slice(0, -2), false]);
  expect((await read({ last: 2, before: cursor(0) })).cursors).toEqual([]);
});

it.each<[string, () => object, string]>([
  ['a negative size', () => ({ last: -1 }), 'INVALID_INPUT'],
  ['another log’s cursor', () => ({ before: encodeCursor('00000000-0000-4000-8000-000000000000', 1n) }), 'CURSOR_INVALID'],
])('refuses %s', async (_what, variables, code) => {
  const { errors } = await ask(variables());
  expect(errors?.map(({ extensions }) => extensions?.code)).toEqual([code]);
});

it('ends where what came before was pruned', async () => {
  const { all } = await read({});
  await db.prisma.dataRun.updateMany({ where: { workspaceId: yard.workspaceId }, data: { state: 'CANCELLED', settledAt: new Date() } });
  expect(await pruneEvents(db, { days: 0, stop: new AbortController().signal })).toBe(all.length);
  const [run = ''] = yard.runs;
  await write(db, run, 'after');
  const last = await read({ last: 10 });
  expect([last.cursors.length, last.pageInfo.hasPreviousPage]).toEqual([1, false]);
  expect((await read({ last: 10, before: all[2] })).cursors).toEqual([]);
});
