// Work that ends with a longer one, or before it.
import { setMaxListeners } from 'node:events';

export interface Linked extends Disposable {
  readonly signal: AbortSignal;
  readonly abort: (reason: unknown) => void;
}

/**
 * Aborted by itself, or with `outer` and its reason; left by `outer` when it is disposed. By hand, as AbortSignal.any of Node 20 keeps what
 * it made for as long as a signal that outlives it: the stop of a process would hold everything it ever did.
 */
export function linkedTo(outer: AbortSignal): Linked {
  const own = new AbortController();
  const end = () => own.abort(outer.reason);
  setMaxListeners(0, outer); // one may be that of a whole process, and Node warns from eleven on
  outer.addEventListener('abort', end, { once: true });
  if (outer.aborted) end();
  return {
    signal: own.signal,
    abort: (reason) => own.abort(reason),
    [Symbol.dispose]: () => outer.removeEventListener('abort', end),
  };
}
