// The same for schemas and rows that nobody thought of: every value that is loaded comes out as it was, and again after a second load.
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { FieldType } from '../../src/packages/plan.ts';
import { startApp } from '../support/app.ts';
import { createWorkspace, zipOf } from '../support/story.ts';
import { entriesOf, faultsUnderProfile, jsonIn, sha256 } from './archives.ts';
import { exported, loadedZip, mutateExport } from './story.ts';

const app = await startApp();

const missing = '~ none ~';
const storable = (text: string) => !text.includes('\0') && text.isWellFormed() && text !== missing;
const digits = (value: number, width: number) => String(value).padStart(width, '0');
const text = fc
  .oneof(
    fc.string({ unit: 'grapheme' }),
    fc.string({ unit: 'binary' }),
    fc.constantFrom(
      '',
      'NULL',
      'NULL1',
      '\\N',
      '\\.',
      '"',
      '""',
      ',',
      '\n',
      '\r\n',
      '\r',
      ' ',
      "'",
      '\t',
      '\\',
      '\u2028',
      '\ufeff',
      '😀',
      'é',
      'e\u0301',
      '{"a":1}',
      '=1+1',
      '\u007f\u0001',
    ),
  )
  .filter(storable);
const day = fc
  .date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T00:00:00Z'), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 10));
const clock = fc
  .tuple(fc.nat(23), fc.nat(59), fc.nat(59), fc.constantFrom('', '.5', '.123456789', '.000'))
  .map(([h, m, s, fraction]) => `${digits(h, 2)}:${digits(m, 2)}:${digits(s, 2)}${fraction}`);
const integer = fc.oneof(
  fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }).map(String),
  fc.constantFrom('0', '9007199254740993', '9223372036854775808', '-9223372036854775809', '1000000000000000000000000000000'),
);

/** As a file has it and as it comes out: the values here are written as we write them. */
const values: Record<FieldType, fc.Arbitrary<string>> = {
  string: text,
  any: text,
  integer,
  number: fc.oneof(
    fc
      .tuple(fc.constantFrom('', '-'), fc.bigInt({ min: 1n, max: 10n ** 25n }), fc.stringMatching(/^\d{1,20}$/))
      .map(([sign, whole, part]) => `${sign}${whole}.${part}`),
    fc.constantFrom('0', '1.5', '1.50', '0.10', 'INF', '-INF', 'NaN'),
  ),
  boolean: fc.constantFrom('true', 'false'),
  date: day,
  time: clock,
  datetime: fc.tuple(day, clock, fc.constantFrom('', 'Z')).map(([date, time, zone]) => `${date}T${time}${zone}`),
  year: fc.oneof(
    fc.integer({ min: 0, max: 9_999 }).map((year) => digits(year, 4)),
    fc.constantFrom('-0044', '12000', '-123456'),
  ),
  yearmonth: fc
    .tuple(fc.integer({ min: 1, max: 9_999 }), fc.integer({ min: 1, max: 12 }))
    .map(([year, month]) => `${digits(year, 4)}-${digits(month, 2)}`),
};
const bare = new Set<FieldType>(['integer', 'number', 'boolean']);

interface Table {
  readonly fields: readonly { readonly name: string; readonly type: FieldType }[];
  readonly key: readonly string[];
  readonly rows: readonly (readonly (string | null)[])[];
}

const types = Object.keys(values) as FieldType[];
const fieldName = fc
  .oneof(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }), fc.constantFrom('a "b"', 'x'.repeat(200), 'c,d', 'é'.repeat(100)))
  .filter((name) => storable(name) && name.trim() !== '' && !/[\r\n\ufeff]/.test(name) && Array.from(name).length <= 200);

const table: fc.Arbitrary<Table> = fc
  .tuple(
    fc.uniqueArray(fc.tuple(fieldName, fc.constantFrom(...types)), {
      minLength: 1,
      maxLength: 8,
      selector: ([name]) => name.normalize('NFC'),
    }),
    fc.constantFrom('none', 'one', 'two'),
    fc.nat(30),
  )
  .chain(([named, keyed, count]) => {
    const own = named.filter(([name]) => name !== 'k' && name !== 'l').map(([name, type]) => ({ name, type }));
    const key = keyed === 'none' ? [] : keyed === 'one' ? ['k'] : ['k', 'l'];
    const fields = [
      ...(key.length > 0 ? [{ name: 'k', type: 'integer' as const }] : []),
      ...(own.length > 0 ? own : [{ name: 'only', type: 'string' as const }]),
      ...(key.length > 1 ? [{ name: 'l', type: 'string' as const }] : []),
    ];
    const row = fc.tuple(...fields.map(({ type }) => fc.option(values[type], { nil: null, freq: 4 })));
    return fc.array(row, { minLength: count, maxLength: count }).map((rows) => ({
      fields,
      key,
      rows: rows.map((cells, index) =>
        cells.map((cell, at) => {
          if (fields[at]?.name === 'k' && key.length > 0)
            return String(BigInt(index % 3) * 10n ** 20n + BigInt(key.length === 1 ? index : 0));
          return fields[at]?.name === 'l' && key.length > 1 ? `l${index}` : cell;
        }),
      ),
    }));
  });

const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`;
const csvOf = ({ fields, rows }: Table) =>
  [fields.map(({ name }) => name), ...rows.map((row) => row.map((cell) => cell ?? missing))]
    .map((row) => `${row.map(quoted).join(',')}\n`)
    .join('');

async function load(zip: Buffer, format: string) {
  const workspaceId = await createWorkspace(app);
  await mutateExport(app, 'updateExportSettings', { workspaceId, format });
  await loadedZip(app, workspaceId, zip);
  return exported(app, workspaceId);
}

/** The rows of a data file as texts, in no order. */
function contentOf({ fields }: Table, format: string, file: string, missingValues: readonly string[]): string[] {
  if (format === 'NDJSON') return file.split('\n').slice(0, -1).sort();
  const [, ...records] = parse(file, { relax_column_count: false, skip_empty_lines: false, bom: false }) as string[][];
  return records
    .map((cells) =>
      lineOf(
        fields,
        cells.map((cell) => (missingValues.includes(cell) ? null : cell)),
      ),
    )
    .sort();
}

const lineOf = (fields: Table['fields'], cells: readonly (string | null)[]) =>
  `{${fields.map(({ name, type }, at) => `${JSON.stringify(name)}:${jsonOf(type, cells[at] ?? null)}`).join(',')}}`;

function jsonOf(type: FieldType, cell: string | null): string {
  if (cell === null) return 'null';
  return bare.has(type) && !/N/.test(cell) ? cell : JSON.stringify(cell);
}

it.each(['CSV', 'NDJSON'])('generated schemas and rows come back as %s', { timeout: 300_000 }, async (format) => {
  await fc.assert(
    fc.asyncProperty(table, async (given) => {
      const schema = { fields: given.fields, missingValues: [missing], ...(given.key.length > 0 ? { primaryKey: given.key } : {}) };
      const one = await load(await zipOf('generated', [{ name: 'generated', rows: csvOf(given), schema }]), format);
      const files = await entriesOf(one.zip);
      const descriptor = jsonIn(files, 'datapackage.json');
      expect(faultsUnderProfile(descriptor)).toBeNull();
      const [resource] = descriptor.resources;
      const file = files.get(resource.path)?.toString('utf8') ?? '';
      expect(contentOf(given, format, file, resource.schema.missingValues)).toEqual(
        given.rows.map((row) => lineOf(given.fields, row)).sort(),
      );
      const two = await load(one.zip, format);
      expect(two.execution.manifestDigest).toBe(one.execution.manifestDigest);
      expect(sha256((await entriesOf(two.zip)).get(resource.path) ?? Buffer.alloc(0))).toBe(resource.hash.slice('sha256:'.length));
    }),
    { numRuns: Number(process.env['ROUND_TRIPS'] ?? 25), endOnFailure: true },
  );
});
