// Whatever is in a file, and whatever was there before: the rows that are left out, held back and written are those of a model in a few lines.
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { field, plan, recordsDatabase, schema } from './loading.ts';

const db = await recordsDatabase();

interface Line {
  readonly n: number;
  /** Null: it is no integer. */
  readonly id: number | null;
  readonly code: number | null;
  readonly parent: number | null;
  readonly metal: number | null;
}

type Live = ReadonlyMap<number, Line>;
interface Policies {
  readonly onInvalidRow: 'FAIL' | 'REJECT';
  readonly onMissingReference: 'BLOCK' | 'FAIL' | 'REJECT';
}

const metals = new Set([1, 2, 3]);

/** Null where the dataset fails; else what is written, and how many rows are held back. */
function model(
  lines: readonly Line[],
  live: Live,
  { onInvalidRow, onMissingReference }: Policies,
): { written: Line[]; held: number } | null {
  let left = lines.filter(({ id }) => id !== null);
  const repeats = (line: Line, of: (one: Line) => number | null) =>
    of(line) !== null && left.some((other) => other.n < line.n && of(other) === of(line));
  const once = (of: (one: Line) => number | null) => left.filter((line) => !repeats(line, of));
  left = once(({ id }) => id);
  left = once(({ code }) => code);
  if (onInvalidRow === 'FAIL' && left.length < lines.length) return null;
  for (;;) {
    const held = heldOf(left, live);
    if (held.size > 0 && onMissingReference === 'FAIL') return null;
    if (onMissingReference === 'REJECT') left = left.filter((line) => !held.has(line));
    const writable = left.filter((line) => !held.has(line));
    const lost = lostOf(writable, live);
    if (lost.size === 0) return { written: writable, held: left.length - writable.length };
    if (onInvalidRow === 'FAIL') return null;
    left = left.filter((line) => !lost.has(line));
  }
}

function heldOf(left: readonly Line[], live: Live): Set<Line> {
  const held = new Set<Line>();
  for (let before = -1; before < held.size; ) {
    before = held.size;
    for (const line of left) {
      const isThere = (id: number) => live.has(id) || left.some((other) => other.id === id && !held.has(other));
      if ((line.metal !== null && !metals.has(line.metal)) || (line.parent !== null && !isThere(line.parent))) held.add(line);
    }
  }
  return held;
}

function lostOf(writable: readonly Line[], live: Live): Set<Line> {
  const lost = new Set<Line>();
  for (let before = -1; before < lost.size; ) {
    before = lost.size;
    for (const line of writable) {
      const holder = [...live.values()].find(({ code, id }) => code !== null && code === line.code && id !== line.id);
      if (holder !== undefined && !writable.some((other) => other.id === holder.id && !lost.has(other))) lost.add(line);
    }
  }
  return lost;
}

const small = fc.option(fc.integer({ min: 1, max: 5 }), { nil: null });
const line = fc.record({
  id: fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 1, max: 8 }) }, { weight: 1, arbitrary: fc.constant(null) }),
  code: small,
  parent: fc.option(fc.integer({ min: 1, max: 8 }), { nil: null, freq: 2 }),
  metal: fc.oneof({ weight: 8, arbitrary: fc.constantFrom(1, 2, 3, null) }, { weight: 1, arbitrary: fc.constant(9) }),
});
const load = fc.record({
  lines: fc.array(line, { maxLength: 9 }).map((lines) => lines.map((one, at) => ({ n: at + 1, ...one }))),
  onInvalidRow: fc.constantFrom('REJECT' as const, 'REJECT' as const, 'FAIL' as const),
  onMissingReference: fc.constantFrom('BLOCK' as const, 'REJECT' as const, 'FAIL' as const),
});

it('holds for any files, one after another', { timeout: 300_000 }, async () => {
  await db.load(plan('metals', schema([field('id', 'integer')], { primaryKey: ['id'] })), 'id\n1\n2\n3\n');
  let datasets = 0;
  let [rejected, blocked, failed] = [0, 0, 0];
  await fc.assert(
    fc.asyncProperty(fc.array(load, { minLength: 1, maxLength: 4 }), async (loads) => {
      const name = `d${++datasets}`;
      const fields = [
        field('id', 'integer'),
        field('code', 'integer', { unique: true }),
        field('parent', 'integer'),
        field('metal', 'integer'),
      ];
      const foreignKeys = [
        { fields: ['parent'], reference: { resource: name, fields: ['id'] } },
        { fields: ['metal'], reference: { resource: 'metals', fields: ['id'] } },
      ];
      const dataset = plan(name, schema(fields, { primaryKey: ['id'], foreignKeys }));
      const live = new Map<number, Line>();
      for (const { lines, ...policies } of loads) {
        const text = lines.map(({ id, code, parent, metal }) => `${id ?? 'x'},${code ?? ''},${parent ?? ''},${metal ?? ''}\n`).join('');
        const runId = randomUUID();
        const outcome = await db.load(dataset, `id,code,parent,metal\n${text}`, { ...policies, runId });
        if (outcome === 'abandoned') throw new Error('nobody asked it to stop');
        const { source, loaded, updated, unchanged, rejected: out, blocked: back, unprocessed } = outcome.rows;
        expect(source).toBe(lines.length);
        expect(loaded + updated + unchanged + out + back + unprocessed).toBe(source);
        const expected = model(lines, live, policies);
        expect(outcome.state === 'failed').toBe(expected === null);
        const { rows: kept } = await db.pool.query(
          'SELECT r.n::int FROM rejected_dataset d JOIN rejected_row r ON r.rejected_id = d.id WHERE d.run_id = $1 ORDER BY r.n',
          [runId],
        );
        if (expected === null) {
          failed++;
          expect(kept).toEqual([]);
        } else {
          const { written, held } = expected;
          expect([loaded + updated + unchanged, back, out]).toEqual([written.length, held, lines.length - written.length - held]);
          expect(kept).toHaveLength(out);
          expect(kept.filter(({ n }) => written.some((one) => one.n === n))).toEqual([]);
          for (const one of written) live.set(one.id ?? 0, one);
          rejected += out;
          blocked += back;
        }
        const rows = source === 0 && live.size === 0 ? [] : await db.rows(name).catch(() => []);
        const shown = rows.map((row) => `${row.id} ${row.code} ${row.parent} ${row.metal}`).sort();
        expect(shown).toEqual([...live.values()].map(({ id, code, parent, metal }) => `${id} ${code} ${parent} ${metal}`).sort());
      }
    }),
    { numRuns: 30, seed: 20_261_201 },
  );
  expect(Math.min(rejected, blocked, failed)).toBeGreaterThan(5);
});
