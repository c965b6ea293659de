import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { linkedTo } from '../src/linked.ts';

describe('work that ends with a longer one', () => {
  it('is aborted with it, for its reason, also where it has ended already', () => {
    const outer = new AbortController();
    using before = linkedTo(outer.signal);
    outer.abort('the server stops');
    using after = linkedTo(outer.signal);
    expect([before.signal.reason, after.signal.reason]).toEqual(['the server stops', 'the server stops']);
  });

  it('is aborted alone, and keeps its own reason when the longer one ends too', () => {
    const outer = new AbortController();
    using work = linkedTo(outer.signal);
    work.abort('its claim is lost');
    expect(outer.signal.aborted).toBe(false);
    outer.abort('the server stops');
    expect(work.signal.reason).toBe('its claim is lost');
  });

  it('leaves nothing with a longer one that goes on', () => {
    const outer = new AbortController();
    for (let i = 0; i < 20; i++) {
      using work = linkedTo(outer.signal);
      expect(getEventListeners(outer.signal, 'abort')).toHaveLength(1);
      expect(work.signal.aborted).toBe(false);
    }
    expect(getEventListeners(outer.signal, 'abort')).toHaveLength(0);
    outer.abort();
  });
});
