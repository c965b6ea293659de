// A schema's `pattern` (XML Schema's regular expressions, in practice whatever people write) for Postgres. Only what both read alike
// is let through; a pattern that would mean something else, or that could backtrack without end, is refused.

const sharedEscapes = new Set('dDwWsSnrtf'.split(''));
const lookaround = /^\((?:\?:|\?=|\?!|\?<=|\?<!)/;

/** The pattern for `~`, matching whole values; null where it is not supported. */
export function postgresPattern(pattern: string): string | null {
  let out = '';
  let inClass = false;
  for (let at = 0; at < pattern.length; at += 1) {
    const char = pattern[at] ?? '';
    const next = pattern[at + 1] ?? '';
    if (char === '\\') {
      if (next === '') return null;
      if (/[\p{L}\p{N}_]/u.test(next)) {
        const unicode = /^u[0-9a-fA-F]{4}/.exec(pattern.slice(at + 1));
        // Back references make Postgres backtrack; \b, \A, \p and the like mean other things in it, or nothing.
        if (!sharedEscapes.has(next) && unicode === null) return null;
      }
      out += char + next;
      at += 1;
    } else if (inClass) {
      // [a-z-[aeiou]] is a subtraction in XML Schema, [[:alpha:]] a class in Postgres.
      if (char === '[') return null;
      if (char === ']') inClass = false;
      out += char;
    } else if (char === '[') {
      inClass = true;
      out += char;
      if (next === '^') {
        out += next;
        at += 1;
      }
      // An empty class is read differently everywhere.
      if (pattern[at + 1] === ']') return null;
    } else if (char === '(' && next === '?') {
      const group = lookaround.exec(pattern.slice(at));
      if (group === null) return null;
      out += group[0];
      at += group[0].length - 1;
    } else if (char === '.') {
      out += '[^\\n\\r]'; // Postgres's dot takes line ends too
    } else {
      out += char;
    }
  }
  return inClass ? null : `^(?:${out})$`;
}
