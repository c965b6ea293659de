import { readFileSync } from 'node:fs';
import pg from 'pg';
import { expect, it } from 'vitest';
import { lifecycleDocument } from '../../scripts/print-lifecycles.ts';
import { triggerFunctions } from '../../scripts/print-triggers.ts';
import { deliveryLifecycle, exportLifecycle, packageLifecycle } from '../../src/exports/lifecycle.ts';
import { faults, moves } from '../../src/lifecycle/describe.ts';
import { allowedCommands, lifecycle } from '../../src/lifecycle/lifecycle.ts';
import { runLifecycle, stepLifecycle } from '../../src/runs/lifecycle.ts';
import { freshDatabase } from '../support/database.ts';

const tables = { runLifecycle, stepLifecycle, exportLifecycle, packageLifecycle, deliveryLifecycle };

it.each(Object.entries(tables))('%s is sound', (_name, table) => {
  expect(faults(table)).toEqual([]);
});

it('sees a table that is not sound', () => {
  const broken = lifecycle<{ state: 'A' | 'B' | 'C' }>()({
    name: 'Broken',
    states: { A: { says: '', initial: true }, B: { says: '', terminal: true }, C: { says: '' } },
    transitions: {
      MAKE: { says: '', from: null, to: 'A', who: '', guard: '', effects: [] },
      GO: { says: '', from: ['A'], to: 'B', who: '', guard: '', effects: [] },
      BACK: { says: '', from: ['B'], to: 'A', who: '', guard: '', effects: [] },
    },
    commands: { ASK: { says: '', permission: '', in: { C: 'GO' } } },
    refused: [{ from: 'A', to: 'B', why: '' }],
  });
  expect(faults(broken)).toEqual([
    'B is terminal but has a way out',
    'C cannot be reached',
    'C can never finish',
    'A → B is both declared and refused',
    'ASK in C makes GO, which does not leave C',
  ]);
});

it('has exactly the moves of the specification', () => {
  const run = moves(runLifecycle).map(({ from, to, action }) => `${from} ${action} ${to}`);
  expect(run.sort()).toEqual(
    [
      'null REGISTER REGISTERED',
      'REGISTERED START RUNNING',
      'RUNNING PAUSE PAUSED',
      'PAUSED RESUME RUNNING',
      'RUNNING SUCCEED SUCCEEDED',
      'RUNNING FAIL FAILED',
      'REGISTERED CANCEL CANCELLED',
      'RUNNING CANCEL CANCELLED',
      'PAUSED CANCEL CANCELLED',
    ].sort(),
  );
  const exported = moves(exportLifecycle).map(({ from, to, action }) => `${from} ${action} ${to}`);
  expect(exported.sort()).toEqual(
    [
      'null REQUEST QUEUED',
      'QUEUED DISPATCH RUNNING',
      'RUNNING TAKE_OVER RUNNING',
      'RUNNING SUCCEED SUCCEEDED',
      'QUEUED FAIL FAILED',
      'RUNNING FAIL FAILED',
      'QUEUED CANCEL CANCELLED',
      'RUNNING CANCEL CANCELLED',
    ].sort(),
  );
});

it('prints the document that is committed', () => {
  expect(readFileSync('docs/lifecycles.md', 'utf8')).toBe(lifecycleDocument());
});

it('has its triggers in the database as the tables ask for', async () => {
  const client = new pg.Client({ connectionString: await freshDatabase() });
  await client.connect();
  const { rows } = await client.query<{ proname: string; prosrc: string }>(`SELECT proname, prosrc FROM pg_proc WHERE proname = ANY ($1)`, [
    Object.keys(triggerFunctions),
  ]);
  await client.end();
  const live = Object.fromEntries(rows.map(({ proname, prosrc }) => [proname, prosrc]));
  for (const [name, sql] of Object.entries(triggerFunctions)) expect(sql, name).toContain(`$$${live[name]}$$`);
});

it('offers nothing in a terminal state', () => {
  for (const state of ['SUCCEEDED', 'FAILED', 'CANCELLED'] as const) {
    expect(allowedCommands(runLifecycle, { state, cancelRequestedAt: null } as never)).toEqual([]);
  }
});
