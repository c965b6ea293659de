// How the CSV is written. What the loader cannot do is refused here, rather than read wrongly later.
import { z } from 'zod';
import type { CsvDialect } from './plan.ts';
import { isStorableText, quote, type Report } from './problems.ts';
import { isRecord, readShape } from './shape.ts';

const dialectShape = z.object({
  delimiter: z.string().nullish(),
  quoteChar: z.string().nullish(),
  doubleQuote: z.boolean().nullish(),
  escapeChar: z.string().nullish(),
  header: z.boolean().nullish(),
  skipInitialSpace: z.boolean().nullish(),
  commentChar: z.string().nullish(),
  lineTerminator: z.string().nullish(),
});

/** Properties of the standard that change what the rows are, and the values with which they change nothing. */
const notRead: readonly { readonly property: string; readonly harmless: readonly string[] }[] = [
  { property: 'headerRows', harmless: ['[1]'] },
  { property: 'headerJoin', harmless: ['" "'] },
  { property: 'commentRows', harmless: ['[]'] },
  { property: 'nullSequence', harmless: [] },
  { property: 'property', harmless: [] },
  { property: 'itemType', harmless: ['"object"', '"array"'] },
  { property: 'itemKeys', harmless: [] },
  { property: 'sheetNumber', harmless: ['1'] },
  { property: 'sheetName', harmless: [] },
  { property: 'table', harmless: [] },
  // Not the standard's, but frictionless-py writes them, and ignoring them would split the columns wrongly.
  { property: 'csv', harmless: ['{}'] },
  { property: 'json', harmless: ['{}'] },
];

// v1 has `skipInitialSpace: true` as its default, v2 and every reader in use have false: true would drop spaces that are data.
export function standardDialect(delimiter = ','): CsvDialect {
  return { delimiter, quoteChar: '"', doubleQuote: true, escapeChar: null, header: true, skipInitialSpace: false, commentChar: null };
}

/** Properties such as `csvddfVersion` and `caseSensitiveHeader` change nothing here; headers are always compared as they are written. */
export function readDialect(stated: unknown, delimiter: string, report: Report): CsvDialect {
  const standard = standardDialect(delimiter);
  const shape = readShape(dialectShape, stated, 'INVALID_DIALECT', 'The dialect is not valid', report);
  if (shape === null || !isRecord(stated)) return standard;

  for (const { property, harmless } of notRead) {
    const value = stated[property] ?? null;
    if (value === null || harmless.includes(JSON.stringify(value))) continue;
    report.problem('DIALECT_NOT_SUPPORTED', `The dialect's \`${property}\` is not read yet.`, property);
  }
  const terminator = shape.lineTerminator ?? '\n';
  if (!['\n', '\r\n', '\r'].includes(terminator)) {
    report.problem('DIALECT_NOT_SUPPORTED', `Lines that end with ${quote(terminator)} are not read.`, 'lineTerminator');
  }
  // Here null means "no quoting", unlike everywhere else.
  const quoteChar = shape.quoteChar === undefined ? standard.quoteChar : shape.quoteChar;
  // An escape character that is the quote character is the doubled quote in other words.
  const escapeChar = shape.escapeChar === undefined || shape.escapeChar === quoteChar ? null : shape.escapeChar;
  if (escapeChar !== null && quoteChar !== null && shape.doubleQuote === true) {
    const words = 'The dialect has both `doubleQuote: true` and an `escapeChar`; only one of them can be read.';
    report.problem('DIALECT_NOT_SUPPORTED', words, 'escapeChar');
  }
  const dialect: CsvDialect = {
    delimiter: shape.delimiter ?? standard.delimiter,
    quoteChar,
    doubleQuote: shape.doubleQuote ?? escapeChar === null,
    escapeChar,
    header: shape.header ?? standard.header,
    skipInitialSpace: shape.skipInitialSpace ?? standard.skipInitialSpace,
    commentChar: shape.commentChar ?? null,
  };
  judgeCharacters(dialect, report);
  return dialect;
}

function judgeCharacters(dialect: CsvDialect, report: Report): void {
  const used = new Map<string, string>();
  for (const property of ['delimiter', 'quoteChar', 'escapeChar', 'commentChar'] as const) {
    const char = dialect[property];
    if (char === null) continue;
    if (Array.from(char).length !== 1 || !isStorableText(char) || char === '\n' || char === '\r') {
      report.problem('INVALID_DIALECT', `The dialect's \`${property}\` must be one character, and is ${quote(char)}.`, property);
    }
    const twin = used.get(char);
    if (twin !== undefined) {
      report.problem('INVALID_DIALECT', `The dialect's \`${twin}\` and \`${property}\` are the same character ${quote(char)}.`, property);
    }
    used.set(char, property);
  }
}
