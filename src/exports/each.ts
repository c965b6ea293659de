// Chores that are done one by one, where a fault in one must keep none of the others.

/** The last fault is thrown in the end. */
export async function each<T>(list: readonly T[], work: (one: T) => Promise<unknown>): Promise<void> {
  let fault: { readonly error: unknown } | undefined;
  for (const one of list) {
    await work(one).catch((error: unknown) => {
      fault = { error };
    });
  }
  if (fault !== undefined) throw fault.error;
}
