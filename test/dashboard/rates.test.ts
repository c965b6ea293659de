import { describe, expect, it } from 'vitest';
import { aboutIn, leftOf, lengthIn, rateOf, type Sample, seen } from '../../src/dashboard/runs/rates.ts';

const all = (...samples: readonly Sample[]) => samples.reduce<Sample[]>(seen, []);
const t = 1_800_000_000_000;

describe('a rate', () => {
  it('is what was done by the time between the first and the last that was seen', () => {
    expect(rateOf(all({ at: t, done: 100 }, { at: t + 1_000, done: 300 }, { at: t + 4_000, done: 900 }), t + 4_000)).toBe(200);
  });

  it('is not there before there are two looks, a second apart, between which something was done', () => {
    expect(rateOf([], t)).toBeNull();
    expect(rateOf(all({ at: t, done: 100 }), t)).toBeNull();
    expect(rateOf(all({ at: t, done: 100 }, { at: t + 500, done: 200 }), t + 500)).toBeNull();
    expect(rateOf(all({ at: t, done: 100 }, { at: t + 5_000, done: 100 }), t + 5_000)).toBeNull();
  });

  it('forgets how it was a while ago, and is gone when nothing is heard any more', () => {
    const samples = all(
      { at: t, done: 0 },
      { at: t + 10_000, done: 100_000 },
      { at: t + 20_000, done: 100_010 },
      { at: t + 30_000, done: 100_020 },
    );
    expect(rateOf(samples, t + 30_000)).toBe(1);
    expect(rateOf(samples, t + 60_000)).toBeNull();
  });

  it('begins anew with another attempt, and takes the same moment once', () => {
    expect(rateOf(all({ at: t, done: 900 }, { at: t + 1_000, done: 0 }, { at: t + 3_000, done: 20 }), t + 3_000)).toBe(10);
    expect(all({ at: t, done: 1 }, { at: t, done: 2 })).toEqual([{ at: t, done: 2 }]);
  });
});

describe('what is left', () => {
  it('is not said where the total is not known, nothing was measured, or all is done', () => {
    expect(leftOf({ done: '10', total: null }, 5)).toBeNull();
    expect(leftOf({ done: '10', total: '20' }, null)).toBeNull();
    expect(leftOf({ done: '20', total: '20' }, 5)).toBeNull();
    expect(leftOf({ done: '25', total: '20' }, 5)).toBeNull();
    expect(leftOf({ done: '10', total: '20' }, 5)).toBe(2_000);
  });

  it('is said about as exactly as it is known', () => {
    expect([3_000, 12_000, 58_000, 200_000, 6_000_000].map(aboutIn)).toEqual([
      'about a few seconds',
      'about 10 s',
      'about 60 s',
      'about 3 min',
      'about 2 h',
    ]);
  });
});

it('a length is said in the two units that matter', () => {
  expect([0, 12.4, 1_240, 59_400, 61_000, 3_723_000].map(lengthIn)).toEqual(['0 ms', '12 ms', '1.2 s', '59 s', '1 min 1 s', '1 h 2 min']);
});
