import { createHash } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { inspectPackage, openDatasetSource } from '../../src/packages/inspect.ts';
import { defaultPackageLimits } from '../../src/packages/limits.ts';
import type { DatasetPlan, Field } from '../../src/packages/plan.ts';
import { memoryStorage } from '../support/memory-storage.ts';
import { type Files, planOf, settings, withField, withResource, withSchema } from './inspecting.ts';
import { packageZip } from './zip-bytes.ts';

async function datasetOf(descriptor: unknown, files?: Files): Promise<DatasetPlan> {
  return (await planOf(descriptor, files)).datasets[0]!;
}

async function fieldOf(field: object): Promise<Field> {
  return (await datasetOf(withField(field))).schema!.fields[0]!;
}

describe('the plan of a package', () => {
  it('has every default of the standard filled in', async () => {
    const plan = await planOf(withField({}));
    expect(plan).toMatchObject({
      name: 'p',
      version: null,
      title: null,
      notes: [],
      digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    });
    expect(plan.datasets).toEqual([
      {
        name: 'a',
        position: 0,
        target: 'store',
        dependsOn: [],
        source: { kind: 'entry', path: 'a.csv' },
        format: 'csv',
        gzip: false,
        dialect: {
          delimiter: ',',
          quoteChar: '"',
          doubleQuote: true,
          escapeChar: null,
          header: true,
          skipInitialSpace: false,
          commentChar: null,
        },
        schema: {
          fields: [
            {
              name: 'id',
              type: 'string',
              constraints: {},
              decimalChar: '.',
              groupChar: '',
              bareNumber: true,
              trueValues: ['true', 'True', 'TRUE', '1'],
              falseValues: ['false', 'False', 'FALSE', '0'],
            },
          ],
          fieldsMatch: 'exact',
          primaryKey: [],
          uniqueKeys: [],
          foreignKeys: [],
          missingValues: [''],
          missingValuesStated: false,
        },
        statedSchema: { fields: [{ name: 'id' }] },
        bytes: 5,
        hash: `sha256:${createHash('sha256').update('id\n1\n').digest('hex')}`,
      },
    ]);
  });

  it('names a package without a name by its digest', async () => {
    const { name, digest } = await planOf({ ...withResource({}), name: undefined });
    expect(name).toBe(`package-${digest.slice(7, 19)}`);
  });

  it('keeps version and title, also a version that is a number', async () => {
    expect(await planOf({ ...withResource({}), version: 2, title: 'Tides' })).toMatchObject({ version: '2', title: 'Tides' });
  });

  it('tolerates a byte order mark, and keys that play tricks', async () => {
    const text =
      '\ufeff{"__proto__": {"resources": []}, "constructor": 1, "name": "no", "name": "p", "resources": [{"name": "x", "data": []}]}';
    expect(await planOf(text)).toMatchObject({ name: 'p', datasets: [{ name: 'x' }] });
    expect(Object.hasOwn(Object.prototype, 'resources')).toBe(false);
  });

  it('says what it passed over', async () => {
    const descriptor = { ...withResource({ schema: undefined, primaryKey: 'id' }), profile: 'https://example.org/own-profile.json' };
    expect((await planOf(descriptor)).notes).toEqual([
      'The profile "https://example.org/own-profile.json" is not known here; it was neither fetched nor checked.',
      '"a" has primaryKey beside its schema, where the standard does not look; it is not used.',
      '"a" has no schema: every column is read as text.',
    ]);
  });

  it.each(['basic-csV', 'Ünïcode name', 'a/b', 'x'.repeat(200), '😀'])('accepts the name %s', async (name) => {
    expect(await datasetOf(withResource({ name }))).toMatchObject({ name });
  });

  it('takes names that differ only in case as two', async () => {
    const resources = ['Tags', 'tags'].map((name) => ({ name, path: 'a.csv' }));
    expect((await planOf({ resources })).datasets.map(({ name }) => name)).toEqual(['Tags', 'tags']);
  });
});

describe('the file of a dataset', () => {
  const file = async (path: unknown, more: object = {}): Promise<Partial<DatasetPlan>> => {
    const names = ['a.csv', 'a.tsv', 'a.json', 'a.ndjson', 'a.jsonl', 'a.txt', 'noending', 'a.csv.gz', 'a.JSON.GZ', 'data/café.csv'];
    const { format, gzip, dialect, source } = await datasetOf(
      withResource({ path, ...more }),
      Object.fromEntries(names.map((name) => [name, 'x'])),
    );
    return { format, gzip, source, dialect: { ...dialect, delimiter: dialect.delimiter } };
  };

  const cases: [string, unknown, object, object][] = [
    ['is CSV by its ending', 'a.csv', {}, { format: 'csv', gzip: false }],
    ['is TSV by its ending', 'a.tsv', {}, { format: 'csv', dialect: { delimiter: '\t' } }],
    ['is CSV by its format, whatever its ending', 'a.tsv', { format: 'CSV' }, { format: 'csv', dialect: { delimiter: ',' } }],
    ['is TSV by its format', 'a.txt', { format: 'tsv' }, { format: 'csv', dialect: { delimiter: '\t' } }],
    ['has the delimiter that is stated', 'a.tsv', { dialect: { delimiter: ';' } }, { dialect: { delimiter: ';' } }],
    ['is JSON', 'a.json', {}, { format: 'json' }],
    ['is NDJSON', 'a.ndjson', {}, { format: 'ndjson' }],
    ['is JSON lines', 'a.jsonl', {}, { format: 'ndjson' }],
    ['is of its mediatype where the ending says nothing', 'a.txt', { mediatype: 'text/csv; charset=utf-8' }, { format: 'csv' }],
    ['is CSV where nothing says anything', 'noending', {}, { format: 'csv' }],
    ['is gzipped by its ending', 'a.csv.gz', {}, { format: 'csv', gzip: true }],
    ['is gzipped by its ending in capitals', 'a.JSON.GZ', {}, { format: 'json', gzip: true }],
    ['is gzipped because it says so', 'a.csv', { compression: 'gz' }, { format: 'csv', gzip: true }],
    ['is a list of one', ['a.csv'], {}, { source: { kind: 'entry', path: 'a.csv' } }],
    ['is spelled with a dot', './data//cafe\u0301.csv', {}, { source: { kind: 'entry', path: 'data/caf\u00e9.csv' } }],
    ['is in any spelling of UTF-8', 'a.csv', { encoding: 'UTF-8' }, { format: 'csv' }],
    ['is in ASCII', 'a.csv', { encoding: 'us-ascii' }, { format: 'csv' }],
  ];
  it.each(cases)('%s', async (_, path, more, expected) => {
    expect(await file(path, more)).toMatchObject(expected);
  });
});

describe('the dialect', () => {
  const dialect = async (stated: object) => (await datasetOf(withResource({ dialect: stated }))).dialect;

  it('is what is stated', async () => {
    const stated = {
      delimiter: '‖',
      quoteChar: "'",
      doubleQuote: false,
      escapeChar: '\\',
      header: false,
      skipInitialSpace: true,
      commentChar: '#',
    };
    expect(await dialect(stated)).toEqual(stated);
  });

  it('has no quotes where they are null, and escapes instead of doubling', async () => {
    expect(await dialect({ quoteChar: null })).toMatchObject({ quoteChar: null });
    expect(await dialect({ escapeChar: '\\' })).toMatchObject({ escapeChar: '\\', doubleQuote: false });
    expect(await dialect({ escapeChar: '"' })).toMatchObject({ escapeChar: null, doubleQuote: true });
  });

  it('may say what changes nothing', async () => {
    const harmless = {
      csvddfVersion: '1.0',
      caseSensitiveHeader: true,
      lineTerminator: '\r\n',
      headerRows: [1],
      headerJoin: ' ',
      itemType: 'object',
    };
    expect(await dialect({ ...harmless, commentRows: [], nullSequence: null, sheetNumber: 1 })).toEqual(await dialect({}));
  });

  it('may be a file of the package, as the schema may', async () => {
    const files = { 'a.csv': 'id\n', 'meta/d.json': '{"delimiter": ";"}', 'meta/s.json': '{"fields": [{"name": "id", "type": "date"}]}' };
    const dataset = await datasetOf(withResource({ dialect: 'meta/d.json', schema: './meta/s.json' }), files);
    expect(dataset).toMatchObject({
      dialect: { delimiter: ';' },
      schema: { fields: [{ type: 'date' }] },
      statedSchema: { fields: [{ name: 'id' }] },
    });
  });

  it('is refused at the place that names its file', async () => {
    const files = { 'a.csv': 'id\n', 's.json': '{"fields": [{"name": "id", "type": "unicorn"}]}' };
    await expect(planOf(withResource({ schema: 's.json' }), files)).rejects.toMatchObject({
      problems: [
        { code: 'INVALID_SCHEMA', pointer: '/resources/0/schema', message: expect.stringMatching(/^In "s.json" at "\/fields\/0\/type": /) },
      ],
    });
  });
});

describe('the schema', () => {
  it('has keys as lists, and fieldsMatch in either form', async () => {
    const both = { fields: [{ name: 'x' }, { name: 'y' }], primaryKey: 'x', uniqueKeys: [['x', 'y']] };
    expect(await datasetOf(withSchema({ ...both, fieldsMatch: ['subset'] }))).toMatchObject({
      schema: { primaryKey: ['x'], uniqueKeys: [['x', 'y']], fieldsMatch: 'subset' },
    });
    expect(await datasetOf(withSchema({ primaryKey: [], fieldsMatch: 'equal' }))).toMatchObject({
      schema: { primaryKey: [], fieldsMatch: 'equal' },
    });
  });

  it('has missing values with or without labels, for all or for one field', async () => {
    const missingValues = ['', { value: 'NA', label: 'not asked' }, 'NA'];
    expect((await datasetOf(withSchema({ missingValues }))).schema).toMatchObject({ missingValues: ['', 'NA'], missingValuesStated: true });
    expect((await datasetOf(withSchema({ missingValues: [] }))).schema).toMatchObject({ missingValues: [], missingValuesStated: true });
    expect((await fieldOf({ missingValues })).missingValues).toEqual(['', 'NA']);
    expect(await fieldOf({})).not.toHaveProperty('missingValues');
  });

  it('has text for a type that is not stated, in either version', async () => {
    const $schema = 'https://datapackage.org/profiles/2.0/datapackage.json';
    expect((await datasetOf({ ...withField({}), $schema })).schema!.fields[0]).toMatchObject({ type: 'string' });
    expect(await fieldOf({ type: null })).toMatchObject({ type: 'string' });
    expect(await fieldOf({ type: 'any', format: 'default' })).toMatchObject({ type: 'any' });
  });

  it('keeps the values of constraints as they would stand in the data', async () => {
    const constraints = async (field: object) => (await fieldOf(field)).constraints;
    expect(await constraints({ type: 'integer', constraints: { required: true, unique: false, minimum: -5, maximum: '1000' } })).toEqual({
      required: true,
      minimum: '-5',
      maximum: '1000',
    });
    expect(await constraints({ type: 'number', decimalChar: ',', constraints: { exclusiveMinimum: 0.5, enum: [1.5, 2] } })).toEqual({
      exclusiveMinimum: '0,5',
      enum: ['1,5', '2'],
    });
    expect(await constraints({ type: 'boolean', trueValues: ['J'], falseValues: ['N'], constraints: { enum: [true] } })).toEqual({
      enum: ['J'],
    });
    expect(await constraints({ type: 'boolean', constraints: { enum: [true, false] } })).toEqual({ enum: ['true', 'false'] });
    expect(await constraints({ constraints: { minLength: 0, maxLength: 9, pattern: '\\d+', enum: ['a', 1] } })).toEqual({
      minLength: 0,
      maxLength: 9,
      pattern: '\\d+',
      enum: ['a', '1'],
    });
    expect(await constraints({ type: 'datetime', constraints: { exclusiveMaximum: '2020-02-29T23:59:59.5Z' } })).toBeTruthy();
  });

  it('keeps every digit of a number that a double cannot hold', async () => {
    const text = (type: string, minimum: string): string =>
      `{"resources": [{"name": "a", "path": "a.csv", "schema": {"fields": [{"name": "id", "type": "${type}", "constraints": {"minimum": ${minimum}}}]}}]}`;
    for (const [type, stated, kept] of [
      ['integer', '9007199254740993', '9007199254740993'],
      ['integer', '1e23', '100000000000000000000000'],
      ['number', '0.12345678901234567890', '0.12345678901234567890'],
      ['number', '10.50', '10.5'],
    ] as const) {
      const dataset = await datasetOf(text(type, stated));
      expect(dataset.schema!.fields[0]!.constraints.minimum).toBe(kept);
    }
  });

  it('notes a constraint that has no meaning for its type', async () => {
    const plan = await planOf(withField({ type: 'integer', constraints: { minLength: 3, pattern: 'x' } }));
    expect(plan.datasets[0]!.schema!.fields[0]!.constraints).toEqual({});
    expect(plan.notes).toHaveLength(2);
  });
});

describe('what a dataset waits for', () => {
  const dataset = (name: string, reference?: object, more: object = {}): object => ({
    name,
    path: 'a.csv',
    schema: {
      fields: [{ name: 'id' }],
      ...(reference ? { foreignKeys: [{ fields: 'id', reference: { fields: ['id'], ...reference } }] } : {}),
    },
    ...more,
  });
  const order = async (...resources: object[]): Promise<Record<string, readonly string[]>> =>
    Object.fromEntries((await planOf({ resources })).datasets.map(({ name, dependsOn }) => [name, dependsOn]));

  it('is what it refers to and what it says, once and in package order', async () => {
    const c = dataset('c', { resource: 'b' }, { 'packhorse:dependsOn': ['b', 'a'] });
    expect(await order(dataset('a'), dataset('b'), c)).toEqual({ a: [], b: [], c: ['a', 'b'] });
  });

  it.each([{}, { resource: '' }, { resource: null }, { resource: 'a' }, { resource: 'self' }])(
    'is not itself, by %j',
    async (reference) => {
      const plan = await planOf({ resources: [dataset('a', reference)] });
      expect(plan.datasets[0]).toMatchObject({
        dependsOn: [],
        schema: { foreignKeys: [{ fields: ['id'], reference: { resource: 'a', fields: ['id'] } }] },
      });
    },
  );

  it('is a dataset that happens to be called self', async () => {
    expect(await order(dataset('a', { resource: 'self' }), dataset('self'))).toEqual({ a: ['self'], self: [] });
  });

  it('takes a target that is known', async () => {
    expect(await datasetOf({ resources: [dataset('a', undefined, { 'packhorse:target': 'warehouse' })] })).toMatchObject({
      target: 'warehouse',
    });
  });
});

describe('the bytes of a dataset', () => {
  it('are those of its entry, still gzipped', async () => {
    const gz = gzipSync('id\n1\n');
    const descriptor = withResource({ path: 'a.csv.gz' });
    const storage = memoryStorage({ zip: packageZip(descriptor, { 'a.csv.gz': gz }) });
    const stored = { key: 'zip', kind: 'ZIP' } as const;
    const plan = await inspectPackage(storage, { ...stored, digest: 'sha256:00' }, settings);
    expect(plan.datasets[0]).toMatchObject({ gzip: true, bytes: gz.length });
    expect(await buffer(await openDatasetSource(storage, stored, plan.datasets[0]!, defaultPackageLimits))).toEqual(gz);
  });

  it('are the text of inline data, digit for digit', async () => {
    const data = '[{"n": 9007199254740993, "d": 1.10, "t": "\\u0000"},\n {"n": -0, "t": "é"}]';
    const text = `{"resources": [{"name": "a", "data": ${data}}, {"name": "b", "data": [["x"], [1]], "format": "csv"}]}`;
    const storage = memoryStorage({ descriptor: Buffer.from(text) });
    const stored = { key: 'descriptor', kind: 'DESCRIPTOR' } as const;
    const plan = await inspectPackage(storage, { ...stored, digest: 'sha256:00' }, settings);
    expect(plan.datasets.map(({ format, gzip, bytes }) => ({ format, gzip, bytes }))).toEqual([
      { format: 'json', gzip: false, bytes: Buffer.byteLength(data) },
      { format: 'json', gzip: false, bytes: 12 },
    ]);
    const kept = JSON.parse(JSON.stringify(plan)) as typeof plan; // as registration stores it
    expect(String(await buffer(await openDatasetSource(storage, stored, kept.datasets[0]!, defaultPackageLimits)))).toBe(data);
  });

  it('are not there where only a descriptor was uploaded', async () => {
    const storage = memoryStorage({ descriptor: Buffer.from(JSON.stringify(withResource({}))) });
    const inspecting = inspectPackage(storage, { key: 'descriptor', kind: 'DESCRIPTOR', digest: 'sha256:00' }, settings);
    await expect(inspecting).rejects.toMatchObject({ problems: [{ code: 'FILE_MISSING', pointer: '/resources/0/path' }] });
  });
});
