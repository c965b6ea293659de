// What a pass decides, over random packages and random fates of their datasets: no database, many cases.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { DataRunStep } from '../../src/generated/prisma/client.ts';
import { type DecidableStep, decide } from '../../src/runs/decide.ts';

type State = DataRunStep['state'];

const step = (dataset: string, state: State, dependsOn: string[] = [], more: Partial<DecidableStep> = {}): DecidableStep => ({
  dataset,
  position: 0,
  dependsOn,
  state,
  finallyBlocked: false,
  submittedAt: null,
  settledAt: null,
  blockers: [],
  ...more,
});
const names = (steps: readonly DecidableStep[]) => steps.map(({ dataset }) => dataset);
const waitsFor = (...clearedBy: string[]) => [{ code: 'X', dataset: 'x', message: '', count: 1, sampleKeys: [], clearedBy }];

it('submits what has no dependencies, or only such as have succeeded', () => {
  const decision = decide([step('a', 'SUCCEEDED'), step('b', 'PENDING', ['a']), step('c', 'PENDING'), step('d', 'PENDING', ['a', 'c'])]);
  expect(names(decision.submit)).toEqual(['b', 'c']);
  expect(decision.settle).toBeNull();
});

it('fails before it succeeds, and submits nothing then', () => {
  expect(decide([step('a', 'SUCCEEDED'), step('b', 'FAILED'), step('c', 'PENDING')])).toMatchObject({ settle: 'FAIL', submit: [] });
});

it('spreads a final block along the dependencies, and succeeds by it', () => {
  const decision = decide([step('a', 'BLOCKED', [], { finallyBlocked: true }), step('b', 'PENDING', ['a']), step('c', 'PENDING', ['b'])]);
  expect(decision.block.map(({ step: { dataset }, by }) => [dataset, by])).toEqual([
    ['b', 'a'],
    ['c', 'b'],
  ]);
  expect(decision.settle).toBe('SUCCEED');
});

it('waits with a blocked step for what can clear it, tries again after it, and else blocks it for good', () => {
  const [early, late] = [new Date(1_000), new Date(2_000)];
  const blocked = (submittedAt: Date) => step('a', 'BLOCKED', [], { submittedAt, blockers: waitsFor('b') });
  expect(decide([blocked(early), step('b', 'ACTIVE')])).toMatchObject({ submit: [], finallyBlock: [], settle: null });
  expect(names(decide([blocked(early), step('b', 'SUCCEEDED', [], { settledAt: late })]).submit)).toEqual(['a']);
  expect(names(decide([blocked(late), step('b', 'SUCCEEDED', [], { settledAt: early })]).finallyBlock)).toEqual(['a']);
  expect(decide([blocked(late), step('b', 'SUCCEEDED', [], { settledAt: early })]).settle).toBe('SUCCEED');
});

it('does not wait for each other for ever', () => {
  const decision = decide([step('a', 'BLOCKED', [], { blockers: waitsFor('b') }), step('b', 'BLOCKED', [], { blockers: waitsFor('a') })]);
  expect(names(decision.finallyBlock).sort()).toEqual(['a', 'b']);
  expect(decision.settle).toBe('SUCCEED');
});

it('does not wait for a step that is itself dead', () => {
  const decision = decide([
    step('a', 'BLOCKED', [], { blockers: waitsFor('c') }),
    step('b', 'BLOCKED', [], { finallyBlocked: true }),
    step('c', 'PENDING', ['b']),
  ]);
  expect(names(decision.finallyBlock)).toEqual(['a']);
  expect(decision.settle).toBe('SUCCEED');
});

/** A package of up to eight datasets, each needing some of those before it, and how each attempt of each will end. */
const packages = fc
  .array(
    fc.record({
      needs: fc.array(fc.nat(), { maxLength: 3 }),
      fates: fc.array(fc.constantFrom('SUCCEEDED', 'BLOCKED', 'FAILED'), { minLength: 1, maxLength: 2 }),
    }),
    {
      minLength: 1,
      maxLength: 8,
    },
  )
  .map((rows) =>
    rows.map(({ needs, fates }, index) => ({
      dataset: `d${index}`,
      dependsOn: index === 0 ? [] : [...new Set(needs.map((n) => `d${n % index}`))],
      fates,
    })),
  );

it('brings every package to an end, in order, each dataset once an attempt (2,000 packages)', () => {
  fc.assert(
    fc.property(packages, fc.infiniteStream(fc.nat()), (rows, choices) => {
      const steps = rows.map(({ dataset, dependsOn }) => ({ ...step(dataset, 'PENDING', dependsOn), attempt: 0 }));
      let clock = 0;
      for (let turn = 0; turn < 200; turn++) {
        const decision = decide(steps);
        for (const { step: blocked, by } of decision.block) {
          const cause = steps.find(({ dataset }) => dataset === by);
          expect(cause?.state === 'BLOCKED' || decision.block.some(({ step: { dataset } }) => dataset === by)).toBe(true);
          Object.assign(blocked, { state: 'BLOCKED', finallyBlocked: true });
        }
        for (const final of decision.finallyBlock) Object.assign(final, { finallyBlocked: true });
        if (decision.settle !== null) {
          expect(decision.settle === 'FAIL').toBe(steps.some(({ state }) => state === 'FAILED'));
          if (decision.settle === 'SUCCEED')
            expect(steps.every((one) => one.state === 'SUCCEEDED' || (one.state === 'BLOCKED' && one.finallyBlocked))).toBe(true);
          return;
        }
        for (const submitted of decision.submit) {
          for (const name of submitted.dependsOn) expect(steps.find(({ dataset }) => dataset === name)?.state).toBe('SUCCEEDED');
          expect(['PENDING', 'BLOCKED']).toContain(submitted.state);
          Object.assign(submitted, { state: 'ACTIVE', attempt: submitted.attempt + 1, submittedAt: new Date(++clock) });
        }
        const active = steps.filter(({ state }) => state === 'ACTIVE');
        expect(active.length, 'nothing is at work and nothing was decided: stuck').toBeGreaterThan(0);
        const ending = active[choices.next().value % active.length]!;
        const { fates } = rows.find(({ dataset }) => dataset === ending.dataset)!;
        Object.assign(ending, { state: fates[Math.min(ending.attempt, fates.length) - 1], settledAt: new Date(++clock) });
      }
      throw new Error('it never settled');
    }),
    { numRuns: 2_000 },
  );
});
