// How fast something goes, from what was seen of it; and from that how long it may still take, where that can be said at all.

export interface Sample {
  /** Milliseconds since 1970, by the server’s clock. */
  readonly at: number;
  readonly done: number;
}

/** What is older says how it was, not how it is. */
const windowMs = 15_000;
/** A shorter time says more about when it was looked at than about how fast it is. */
const leastMs = 1_000;

/** The samples that count once there is another; a smaller one is the beginning of another attempt. */
export function seen(samples: readonly Sample[], next: Sample): Sample[] {
  const last = samples.at(-1);
  if (last !== undefined && next.done < last.done) return [next];
  return [...samples.filter(({ at }) => at >= next.at - windowMs && at < next.at), next];
}

/** In units a second. Null: nothing was measured, or not lately. */
export function rateOf(samples: readonly Sample[], now: number): number | null {
  const [first, last] = [samples[0], samples.at(-1)];
  if (first === undefined || last === undefined || now - last.at > windowMs) return null;
  const ms = last.at - first.at;
  return ms < leastMs || last.done <= first.done ? null : ((last.done - first.done) * 1_000) / ms;
}

/** In milliseconds. Null where the total is not known, nothing was measured, or all of it is done already. */
export function leftOf({ done, total }: { readonly done: string; readonly total: string | null }, rate: number | null): number | null {
  if (total === null || rate === null) return null;
  const left = Number(BigInt(total) - BigInt(done));
  return left <= 0 ? null : (left / rate) * 1_000;
}

export function lengthIn(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`;
}

/** An estimate, as coarse as it is. */
export function aboutIn(ms: number): string {
  const seconds = ms / 1_000;
  if (seconds < 10) return 'about a few seconds';
  if (seconds < 60) return `about ${Math.round(seconds / 5) * 5} s`;
  if (seconds < 5_400) return `about ${Math.round(seconds / 60)} min`;
  return `about ${Math.round(seconds / 3_600)} h`;
}
