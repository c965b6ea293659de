// Loads and resets in any order, against a model in memory: for each key a stack of versions.
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { selectAsOf, textOf } from '../../src/records/as-of.ts';
import { currentColumns, primaryKeyOf } from '../../src/records/table.ts';
import { type Cells, csv, shaped, undoDatabase } from './undoing.ts';

const db = await undoDatabase();

/** A column that left the schema and came back is another one. */
interface Version {
  readonly run: string;
  readonly plain: Cells;
  readonly x: { readonly column: number; readonly value: string | null } | null;
}
interface Load {
  readonly run: string;
  readonly x: number | null;
  readonly rows: readonly Cells[];
  /** Without a key: it found the dataset as its file is, and wrote nothing. */
  readonly isSilent: boolean;
}

class Model {
  readonly keyed: boolean;
  loads: Load[] = [];
  readonly stacks = new Map<string, Version[]>();
  #columns = 0;
  constructor(keyed: boolean) {
    this.keyed = keyed;
  }

  load(run: string, withX: boolean, rows: readonly Cells[]): void {
    const before = this.loads.at(-1)?.x ?? null;
    const x = withX ? (before ?? ++this.#columns) : null;
    for (const [id, v, n, value = null] of rows) {
      const stack = this.stacks.get(String(id)) ?? [];
      this.stacks.set(String(id), stack);
      const top = stack.at(-1);
      const same =
        top !== undefined &&
        top.plain[1] === v &&
        top.plain[2] === n &&
        (x === null || (top.x?.column === x ? top.x.value : null) === value);
      if (!same) stack.push({ run, plain: [id ?? null, v ?? null, n ?? null], x: x === null ? null : { column: x, value } });
    }
    const content = this.#content(x, rows);
    this.loads.push({ run, x, rows, isSilent: content === this.#present() });
  }

  /** Without a key: all that rows hold, also in columns that the schema does not have now. */
  #content(x: number | null, rows: readonly Cells[]): string {
    const whole = rows.map(([id, v, n, value = null]) => JSON.stringify([id, v, n, x === null || value === null ? null : [x, value]]));
    return whole.sort().join();
  }

  #present(): string {
    const last = this.loads.findLast(({ isSilent }) => !isSilent);
    return last === undefined ? '' : this.#content(last.x, last.rows);
  }

  /** The run that stands in the way, or null: then it is taken back. */
  refusal(run: string): string | null {
    if (!this.keyed) {
      const changing = this.loads.filter(({ isSilent }) => !isSilent);
      const first = changing.findIndex((load) => load.run === run);
      return first < 0 ? null : (changing.slice(first).findLast((load) => load.run !== run)?.run ?? null);
    }
    for (const stack of this.stacks.values()) {
      const first = stack.findIndex((version) => version.run === run);
      const later = first < 0 ? undefined : stack.slice(first).find((version) => version.run !== run);
      if (later !== undefined) return later.run;
    }
    return null;
  }

  undo(run: string): void {
    this.loads = this.loads.filter((load) => load.run !== run);
    for (const stack of this.stacks.values()) while (stack.at(-1)?.run === run) stack.pop();
  }

  rows(): string[] {
    const newest = this.loads.at(-1);
    if (newest === undefined) return [];
    const { x } = newest;
    const rows = this.keyed
      ? [...this.stacks.values()].flatMap((stack) => {
          const top = stack.at(-1);
          if (top === undefined) return [];
          return [x === null ? top.plain : [...top.plain, top.x?.column === x ? top.x.value : null]];
        })
      : (this.loads.findLast(({ isSilent }) => !isSilent)?.rows ?? []).map((row) => {
          const written = this.loads.findLast(({ isSilent }) => !isSilent)?.x;
          return x === null ? row.slice(0, 3) : [...row.slice(0, 3), written === x ? (row[3] ?? null) : null];
        });
    return rows.map((row) => JSON.stringify(row)).sort();
  }
}

const cell = fc.constantFrom('a', 'b', '', null);
// Equal and not the same, beyond a float, and nothing.
const number = fc.constantFrom('1.5', '1.50', `1${'0'.repeat(30)}`, null);
const row = fc.tuple(fc.constantFrom('1', '2', '3'), cell, number, cell);
const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      act: fc.constant('load' as const),
      run: fc.nat(4),
      dataset: fc.nat(1),
      x: fc.boolean(),
      rows: fc.array(row, { maxLength: 4 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ act: fc.constant('undo' as const), run: fc.nat(4) }) },
);

let told = 0;

it('leaves what a model of version stacks says, whatever was loaded and taken back, and every cutoff as it was', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 14 }), async (steps) => {
      const story = ++told;
      const runs = Array.from({ length: 5 }, () => randomUUID());
      const models = [new Model(true), new Model(false)];
      const names = [`keyed${story}`, `keyless${story}`];
      const over = new Set<string>();
      const cutoffs: { text: string; rows: string[] }[] = [];
      for (const step of steps) {
        const run = runs[step.run] ?? '';
        if (over.has(run)) continue;
        if (step.act === 'load') {
          const model = models[step.dataset];
          const rows = model?.keyed === true ? [...new Map(step.rows.map((cells) => [cells[0], cells])).values()] : step.rows;
          await db.load(shaped(names[step.dataset] ?? '', model?.keyed ?? false, step.x), csv(rows, step.x), { runId: run });
          model?.load(run, step.x, rows);
        } else {
          const expected = models.map((model) => model.refusal(run));
          const refused = await db.undo(run);
          if (expected.every((later) => later === null)) {
            expect(refused).toBeNull();
            for (const model of models) model.undo(run);
            over.add(run);
          } else expect(refused?.code).toBe('LATER_RUN');
        }
        for (const [index, model] of models.entries()) {
          const name = names[index] ?? '';
          const dataset = await db.stored(name);
          if (dataset === undefined) continue;
          const rows = (await db.rows(name)).map((values) => JSON.stringify(Object.values(values))).sort();
          expect(dataset.removed).toBe(model.loads.length === 0);
          expect(rows).toEqual(model.rows());
          expect(Number(dataset.rowCount)).toBe(rows.length);
          if (dataset.removed) continue;
          const columns = currentColumns(dataset.columns);
          expect(columns.map((column) => column.name)).toEqual(model.loads.at(-1)?.x === null ? ['id', 'v', 'n'] : ['id', 'v', 'n', 'x']);
          const { rows: at } = await db.pool.query<{ snapshot: string }>('SELECT pg_current_snapshot()::text AS snapshot');
          const asOf = { table: dataset.table, columns, primaryKey: primaryKeyOf(dataset.schema) };
          cutoffs.push({ text: selectAsOf(asOf, at[0]?.snapshot ?? '', columns.map(textOf)), rows });
        }
      }
      for (const { text, rows } of cutoffs) {
        const { rows: found } = await db.pool.query<Cells[]>({ text, rowMode: 'array' });
        expect(found.map((values) => JSON.stringify(values)).sort()).toEqual(rows);
      }
    }),
    { numRuns: 40 },
  );
}, 120_000);
