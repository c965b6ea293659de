// What a plan says is what the run then does, whatever was loaded before it.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import { registered } from '../support/states.ts';
import { createWorkspace } from '../support/story.ts';
import { type FieldSpec, keepsItsWord, of, refers } from './planning.ts';

const app = await startApp();

describe('whatever is loaded after whatever', () => {
  const cell = fc.integer({ min: 1, max: 6 });
  const maybe = fc.option(cell, { nil: '' });
  const rows = <Row>(row: fc.Arbitrary<Row>) => fc.array(row, { maxLength: 7 });
  const bad = fc.oneof({ weight: 30, arbitrary: cell }, { weight: 1, arbitrary: fc.constant('x') });
  const packages = fc.record({
    top: rows(fc.tuple(cell, maybe)),
    middle: rows(fc.tuple(bad, maybe, maybe)),
    bottom: rows(fc.tuple(cell, maybe)),
    unique: fc.boolean(),
    onInvalidRow: fc.constantFrom('FAIL', 'REJECT'),
    onMissingReference: fc.constantFrom('BLOCK', 'FAIL', 'REJECT'),
  });
  const lines = (head: string, cells: readonly (readonly unknown[])[]) => [head, ...cells.map((row) => row.join(','))].join('\n');
  const once = <Row extends readonly unknown[]>(cells: readonly Row[]) => [...new Map(cells.map((row) => [row[0], row])).values()];

  it.each([true, false])('a plan says what the run then does (with a key above: %s)', { timeout: 300_000 }, async (isKeyed) => {
    let [blocked, failed, rejected] = [0, 0, 0];
    await fc.assert(
      fc.asyncProperty(fc.array(packages, { minLength: 2, maxLength: 5 }), async (sequence) => {
        const workspaceId = await createWorkspace(app);
        for (const { top, middle, bottom, unique, ...policies } of sequence) {
          const fields: FieldSpec[] = [
            ['id', 'integer'],
            ['code', 'integer', unique && isKeyed ? { unique: true } : {}],
          ];
          const resources = [
            of('bottom', lines('id,above', once(bottom)), [fields[0] as FieldSpec, ['above', 'integer']], {
              primaryKey: 'id',
              ...refers('middle', 'above'),
            }),
            of('middle', lines('id,top,beside', once(middle)), [fields[0] as FieldSpec, ['top', 'integer'], ['beside', 'integer']], {
              primaryKey: 'id',
              foreignKeys: [
                { fields: 'top', reference: { resource: 'top', fields: 'code' } },
                { fields: 'beside', reference: { resource: '', fields: 'id' } },
              ],
            }),
            of('top', lines('id,code', isKeyed ? once(top) : top), fields, isKeyed ? { primaryKey: 'id' } : {}),
          ];
          const { plan } = await keepsItsWord(app, workspaceId, await registered(app, workspaceId, resources, policies));
          blocked += plan.datasets.filter(({ state }: any) => state === 'BLOCKED').length;
          failed += plan.datasets.filter(({ state }: any) => state === 'FAILED').length;
          rejected += plan.blockers.filter(({ code }: any) => code === 'ROWS_REJECTED').length;
        }
      }),
      { numRuns: 6, seed: 20_261_201 },
    );
    expect(Math.min(blocked, failed, rejected)).toBeGreaterThan(3);
  });
});
