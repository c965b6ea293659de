// A table to take away, as RFC 4180 has it.

/** A cell that begins like this is a formula to a spreadsheet, and what stands in a package is other people's text. */
const likeFormula = /^[=+\-@\t\r]/;

export function csvOf(head: readonly string[], rows: readonly (readonly (string | null)[])[]): string {
  return [head, ...rows].map((cells) => `${cells.map((cell) => cellOf(cell ?? '')).join(',')}\r\n`).join('');
}

function cellOf(text: string): string {
  const safe = likeFormula.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
