// A path is judged by its text alone, so that the answer cannot tell anybody what is on the server's disk.

export type JudgedPath =
  | { readonly kind: 'local'; readonly path: string }
  | { readonly kind: 'remote' }
  | { readonly kind: 'unsafe'; readonly why: string };

/** A `path` (or a `schema`, a `dialect`) of a descriptor. */
export function judgePath(stated: string): JudgedPath {
  if (/^https:\/\//i.test(stated)) return { kind: 'remote' };
  const why = /^[a-z][a-z0-9+.-]*:/i.test(stated) ? 'it has a URL scheme or a drive letter' : whyUnsafePath(stated);
  return why === null ? { kind: 'local', path: normalPath(stated) } : { kind: 'unsafe', why };
}

/** Also for the names of zip entries. */
export function whyUnsafePath(path: string): string | null {
  if (path === '') return 'it is empty';
  if (path.length > 1_000) return 'it is longer than 1,000 characters';
  if (/\p{Cc}/u.test(path)) return 'it holds a control character';
  if (path.includes('\\')) return 'it holds a backslash';
  if (path.startsWith('/')) return 'it is absolute';
  if (/^[a-z]:/i.test(path)) return 'it has a drive letter';
  // %25 is a percent sign: %252e is a dot to whoever decodes twice.
  if (/%(?:25)*(?:2e|2f|5c|00)/i.test(path)) return 'it holds a percent-encoded dot, slash, backslash or NUL';
  // Windows drops trailing spaces and dots of a name: ".. " would be "..".
  if (path.split('/').some((segment) => /^\.[. ]*[. ]$/.test(segment))) return 'it leaves its folder';
  return null;
}

/** One spelling per file: no `./`, no `//`, composed accents (macOS writes them decomposed into its zips). */
export function normalPath(path: string): string {
  const segments = path.split('/').filter((segment, index, all) => segment !== '.' && (segment !== '' || index === all.length - 1));
  return segments.join('/').normalize('NFC');
}
