// What every storage refuses to be asked. These are bugs of the caller, so they are no StorageError.
const segment = '[A-Za-z0-9_][A-Za-z0-9._=-]{0,199}'; // never begins with a dot: no traversal, and a folder's `.incoming` stays its own
const keyPattern = new RegExp(`^${segment}(/${segment}){0,15}$`);

export function isKey(text: string): boolean {
  return keyPattern.test(text);
}

export function checkKey(key: string): void {
  if (!isKey(key)) throw new Error(`not a storage key: ${JSON.stringify(key)}`);
}

/** Nothing, or how a key begins. */
export function checkPrefix(prefix: string): void {
  if (prefix !== '' && !isKey(prefix.replace(/\/$/, ''))) throw new Error(`not the beginning of a storage key: ${JSON.stringify(prefix)}`);
}

export function checkRange({ start, end }: { start: number; end: number }): void {
  const isRange = Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start <= end;
  if (!isRange) throw new Error(`not a range of bytes: ${start} to ${end}`);
}
