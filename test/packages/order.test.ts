import { describe, expect, it } from 'vitest';
import { findCycles, wavesOf } from '../../src/packages/order.ts';

const cyclesOf = (links: Readonly<Record<string, readonly string[]>>): string[] =>
  findCycles(new Map(Object.entries(links))).map((cycle) => cycle.join(' '));

describe('cycles of datasets', () => {
  it('are none in a diamond', () => {
    expect(cyclesOf({ a: ['b', 'c'], b: ['d'], c: ['d'], d: [] })).toEqual([]);
  });

  it('begin with the first of them, without what leads there', () => {
    expect(cyclesOf({ lead: ['c'], a: ['b'], b: ['c'], c: ['a'] })).toEqual(['a b c a']);
  });

  it('are each found', () => {
    expect(cyclesOf({ a: ['b'], b: ['a'], c: ['c'], d: ['e'], e: ['d'] })).toEqual(['c c', 'a b a', 'd e d']);
  });

  it('are found among ten thousand in no time, and a ring of all of them too', () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `d${index}`);
    const started = performance.now();
    const ring = new Map(names.map((name, index) => [name, [names[(index + 1) % names.length]!]]));
    expect(findCycles(ring)).toHaveLength(1);
    const pairs = new Map(names.map((name, index) => [name, [names[index ^ 1]!]]));
    expect(findCycles(pairs)).toHaveLength(20);
    const chain = new Map(names.map((name, index) => [name, names.slice(index + 1, index + 4)]));
    expect(findCycles(chain)).toEqual([]);
    expect(performance.now() - started).toBeLessThan(30_000);
  });
});

it('tells which datasets can begin together, in package order, whatever that is', () => {
  const dataset = (name: string, ...dependsOn: string[]) => ({ name, dependsOn });
  const waves = wavesOf([dataset('d', 'c', 'a'), dataset('c', 'b'), dataset('b'), dataset('e', 'b'), dataset('a')]);
  expect(waves.map((wave) => wave.map(({ name }) => name))).toEqual([['b', 'a'], ['c', 'e'], ['d']]);
  expect(wavesOf([])).toEqual([]);
});
