// The export's machine through the one writer of states: every state × transition, allowed → the exact event, refused → nothing changed.

import { v7 as uuidv7 } from 'uuid';
import { afterAll, describe, expect, it } from 'vitest';
import { inStatement, openDb, Prisma } from '../../src/db.ts';
import { exportLifecycle } from '../../src/exports/lifecycle.ts';
import { allowedCommands, entries, unmet } from '../../src/lifecycle/lifecycle.ts';
import { change, exportExecutionSubject, Stale } from '../../src/lifecycle/transition.ts';
import { freshDatabase } from '../support/database.ts';

const db = openDb(await freshDatabase(), { poolSize: 3, statementTimeoutMs: 60_000 });
afterAll(() => db.close());

type State = keyof typeof exportLifecycle.states;
type Action = keyof typeof exportLifecycle.transitions;

const paths: Record<State, Action[]> = {
  QUEUED: [],
  RUNNING: ['DISPATCH'],
  SUCCEEDED: ['DISPATCH', 'SUCCEED'],
  FAILED: ['FAIL'],
  CANCELLED: ['CANCEL'],
};

async function move(id: string, action: Action): Promise<void> {
  const row = await db.prisma.exportExecution.findUniqueOrThrow({ where: { id } });
  const why = unmet(exportLifecycle, action, row);
  if (why.length > 0) throw new Error(why.map(({ says }) => says).join(' '));
  const { to } = exportLifecycle.transitions[action];
  const facts = {
    QUEUED: Prisma.sql`phase = 'queued'`,
    RUNNING: Prisma.sql`started_at = clock_timestamp()`,
    SUCCEEDED: Prisma.sql`settled_at = clock_timestamp(), counts = '[]', manifest_digest = 'd'`,
    FAILED: Prisma.sql`settled_at = clock_timestamp(), failure = '{}'`,
    CANCELLED: Prisma.sql`settled_at = clock_timestamp()`,
  };
  await inStatement(db, (tx) =>
    change(tx, exportExecutionSubject, row, { to, events: [{ action, from: row.state, to }], set: [facts[to]] }, { actor: 'system' }),
  );
}

async function at(state: State): Promise<string> {
  const workspace = await db.prisma.workspace.create({ data: { slug: uuidv7(), name: 'w', log: { create: {} } } });
  const { id } = await db.prisma.exportExecution.create({
    data: {
      workspaceId: workspace.id,
      requestedBy: 'ann',
      settings: {},
      plan: [],
      cutoff: '2026-11-30T20:07:00.000001Z',
      cutoffSnapshot: '1:1:',
    },
  });
  for (const action of paths[state]) await move(id, action);
  return id;
}

const everythingOf = (id: string) =>
  Promise.all([
    db.prisma.exportExecution.findUnique({ where: { id } }),
    db.prisma.lifecycleEvent.findMany({ where: { exportExecutionId: id }, orderBy: { sequence: 'asc' } }),
  ]);

describe.each(Object.keys(paths) as State[])('an export that is %s', (state) => {
  it.each(entries(exportLifecycle.transitions).map(([action]) => action))('answers %s', async (action) => {
    const id = await at(state);
    const before = await everythingOf(id);
    const { from, to } = exportLifecycle.transitions[action];
    if (from?.includes(state)) {
      await move(id, action);
      const [row, events] = await everythingOf(id);
      expect(row).toMatchObject({ state: to, lastSequence: paths[state].length + 1 });
      expect(events.at(-1)).toMatchObject({ sequence: paths[state].length + 1, action, from: state, to, actor: 'system', dataRunId: null });
    } else {
      await expect(move(id, action)).rejects.toThrow(`It is ${state}`);
      expect(await everythingOf(id)).toEqual(before);
    }
  });

  it('offers a cancel exactly while it is unfinished', async () => {
    const row = await db.prisma.exportExecution.findUniqueOrThrow({ where: { id: await at(state) } });
    expect(allowedCommands(exportLifecycle, row)).toEqual(state === 'QUEUED' || state === 'RUNNING' ? ['CANCEL'] : []);
  });
});

it('writes nothing that was decided on a row that has moved on', async () => {
  const id = await at('QUEUED');
  const row = await db.prisma.exportExecution.findUniqueOrThrow({ where: { id } });
  await move(id, 'DISPATCH');
  const before = await everythingOf(id);
  const late = inStatement(db, (tx) =>
    change(
      tx,
      exportExecutionSubject,
      row,
      { to: 'CANCELLED', events: [{ action: 'CANCEL', from: 'QUEUED', to: 'CANCELLED' }], set: [Prisma.sql`settled_at = now()`] },
      { actor: 'ann' },
    ),
  );
  await expect(late).rejects.toBeInstanceOf(Stale);
  expect(await everythingOf(id)).toEqual(before);
});
