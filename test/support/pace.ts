// How far writers may go, and who waits until they have come so far.

export interface Pace {
  /** Waits until there is something to write within what is allowed, and takes at most so much; 0: no more is to be written. */
  take(atMost: number): Promise<number>;
  made(count: number): void;
  allow(upTo: number): void;
  /** Resolves once so much was made. */
  reached(count: number): Promise<void>;
  /** Nobody waits any longer. */
  end(): void;
}

export function paced(total: number): Pace {
  let allowed = 0;
  let taken = 0;
  let finished = 0;
  let over = false;
  const waiting = new Set<{ readonly isDue: () => boolean; readonly wake: () => void }>();
  const until = (isDue: () => boolean) => (isDue() ? Promise.resolve() : new Promise<void>((wake) => waiting.add({ isDue, wake })));
  const look = () => {
    for (const each of waiting) {
      if (!over && !each.isDue()) continue;
      waiting.delete(each);
      each.wake();
    }
  };
  return {
    async take(atMost) {
      while (!over && taken < total && taken >= allowed) await until(() => taken < allowed || taken >= total);
      if (over) return 0;
      const count = Math.min(atMost, Math.min(allowed, total) - taken);
      taken += count;
      if (taken >= total) look();
      return count;
    },
    made(count) {
      finished += count;
      look();
    },
    allow(upTo) {
      allowed = upTo;
      look();
    },
    reached: (count) => until(() => finished >= count),
    end() {
      over = true;
      look();
    },
  };
}
