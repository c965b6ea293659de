import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { inspectPackage } from '../../src/packages/inspect.ts';
import { defaultPackageLimits } from '../../src/packages/limits.ts';
import { packageProblemCodes } from '../../src/packages/problems.ts';
import { memoryStorage } from '../support/memory-storage.ts';
import { planOf, problemsOf, refusals, settings, withField, withResource, withSchema } from './inspecting.ts';
import { zipBytes } from './zip-bytes.ts';

const long = 'x'.repeat(201);
const other = { name: 'b', path: 'a.csv', schema: { fields: [{ name: 'key', type: 'integer' }] } };
const linkTo = (reference: object): object => withSchema({ foreignKeys: [{ fields: 'id', reference }] });
const schema = '/resources/0/schema';

describe('a package is refused with the place of the fault', () => {
  const cases: [string, unknown, string[]][] = [
    ['is a list', [], ['NOT_A_PACKAGE ']],
    ['is null', null, ['NOT_A_PACKAGE ']],
    ['has resources that are no list', { resources: {} }, ['NOT_A_PACKAGE /resources']],
    ['has no resources', { name: 'p' }, ['NO_RESOURCES /resources']],
    ['has an empty list of resources', { resources: [] }, ['NO_RESOURCES /resources']],
    ['is broken JSON', '{"name": "p",\n  oops}', ['DESCRIPTOR_NOT_JSON ']],
    ['is not UTF-8', Buffer.from('{"name": "caf\xe9"}', 'latin1'), ['DESCRIPTOR_NOT_JSON ']],
    ['is nested without end', '['.repeat(100_000), ['DESCRIPTOR_NOT_JSON ']],
    ['has a name with a NUL', { ...withResource({}), name: 'a\0b' }, ['INVALID_NAME /name']],
    ['has a name that is half a character', '{"name": "\\ud800", "resources": [{"name": "x", "data": []}]}', ['INVALID_NAME /name']],
    ['has a name that is a number', { ...withResource({}), name: 7 }, ['INVALID_NAME /name']],
    ['has a title with a NUL', { ...withResource({}), title: 'a\0b' }, ['INVALID_NAME /title']],
    ['has a version that is half a character', { ...withResource({}), version: '1\udc00' }, ['INVALID_NAME /version']],

    ['has a resource that is a string', { resources: ['a.csv'] }, ['INVALID_RESOURCE /resources/0']],
    ['has a resource without a name', withResource({ name: undefined }), ['INVALID_NAME /resources/0/name']],
    ['has a resource with an empty name', withResource({ name: '' }), ['INVALID_NAME /resources/0/name']],
    ['has a resource with a long name', withResource({ name: long }), ['INVALID_NAME /resources/0/name']],
    ['has a resource with a NUL in its name', withResource({ name: 'a\0' }), ['INVALID_NAME /resources/0/name']],
    [
      'has two resources of one name',
      {
        resources: [
          { ...other, name: 'x' },
          { ...other, name: 'x' },
        ],
      },
      ['DUPLICATE_NAME /resources/1/name'],
    ],
    ['has neither path nor data', withResource({ path: undefined }), ['INVALID_RESOURCE /resources/0']],
    ['has both path and data', withResource({ data: [] }), ['INVALID_RESOURCE /resources/0']],
    ['has an empty list of paths', withResource({ path: [] }), ['INVALID_RESOURCE /resources/0/path']],
    ['has a path that is a number', withResource({ path: 7 }), ['INVALID_RESOURCE /resources/0/path']],
    ['has an encoding that is a number', withResource({ encoding: 7 }), ['INVALID_RESOURCE /resources/0/encoding']],
    ['names a file that is missing', withResource({ path: 'b.csv' }), ['FILE_MISSING /resources/0/path']],
    ['names a folder', withResource({ path: 'a.csv/' }), ['FILE_MISSING /resources/0/path']],
    ['has data at an address', withResource({ path: 'https://example.org/a.csv' }), ['REMOTE_RESOURCE /resources/0/path']],
    ['has data at an http address', withResource({ path: 'http://example.org/a.csv' }), ['UNSAFE_PATH /resources/0/path']],
    ['has data on an ftp server', withResource({ path: 'ftp://example.org/a.csv' }), ['UNSAFE_PATH /resources/0/path']],
    ['has many parts', withResource({ path: ['a.csv', 'a.csv'] }), ['MULTIPART_NOT_SUPPORTED /resources/0/path']],
    ['has a bad part among many', withResource({ path: ['a.csv', '../a.csv'] }), ['UNSAFE_PATH /resources/0/path/1']],
    ['has inline text', withResource({ path: undefined, data: 'id\n1' }), ['INLINE_DATA_NOT_SUPPORTED /resources/0/data']],
    ['has inline numbers', withResource({ path: undefined, data: [1, 2] }), ['INLINE_DATA_NOT_SUPPORTED /resources/0/data']],
    ['has inline objects and lists', withResource({ path: undefined, data: [{}, []] }), ['INLINE_DATA_NOT_SUPPORTED /resources/0/data']],

    ['is a spreadsheet', withResource({ path: 'a.xlsx' }), ['FILE_MISSING /resources/0/path', 'FORMAT_NOT_SUPPORTED /resources/0/path']],
    ['is stated to be parquet', withResource({ format: 'parquet' }), ['FORMAT_NOT_SUPPORTED /resources/0/format']],
    ['is zipped', withResource({ compression: 'zip' }), ['COMPRESSION_NOT_SUPPORTED /resources/0/compression']],
    ['is in latin-1', withResource({ encoding: 'ISO-8859-1' }), ['ENCODING_NOT_SUPPORTED /resources/0/encoding']],
    ['is for an unknown target', withResource({ 'packhorse:target': 'moon' }), ['UNKNOWN_TARGET /resources/0/packhorse:target']],
    ['has a target that is a list', withResource({ 'packhorse:target': ['store'] }), ['UNKNOWN_TARGET /resources/0/packhorse:target']],
    ['waits for nobody', withResource({ 'packhorse:dependsOn': ['b'] }), ['UNKNOWN_DEPENDENCY /resources/0/packhorse:dependsOn/0']],
    ['waits for itself', withResource({ 'packhorse:dependsOn': ['a'] }), ['DEPENDENCY_CYCLE /resources/0']],

    ['has a remote schema', withResource({ schema: 'https://example.org/s.json' }), ['REMOTE_SCHEMA /resources/0/schema']],
    ['has a remote dialect', withResource({ dialect: 'https://example.org/d.json' }), ['REMOTE_DIALECT /resources/0/dialect']],
    ['has an unsafe schema path', withResource({ schema: '/etc/s.json' }), ['UNSAFE_PATH /resources/0/schema']],
    ['has a missing schema file', withResource({ schema: 's.json' }), ['FILE_MISSING /resources/0/schema']],
    ['has a schema file that is no JSON', withResource({ schema: 'a.csv' }), ['INVALID_SCHEMA /resources/0/schema']],
    ['has a schema that is a list', withResource({ schema: [] }), [`INVALID_SCHEMA ${schema}`]],
    ['has an empty schema', withResource({ schema: {} }), [`INVALID_SCHEMA ${schema}/fields`]],
    ['has a field that is a string', withSchema({ fields: ['id'] }), [`INVALID_SCHEMA ${schema}/fields/0`]],
    ['has a field without a name', withSchema({ fields: [{ type: 'integer' }] }), [`INVALID_NAME ${schema}/fields/0/name`]],
    ['has a field with a long name', withField({ name: long }), [`INVALID_NAME ${schema}/fields/0/name`]],
    ['has a field twice', withSchema({ fields: [{ name: 'x' }, { name: 'x' }] }), [`DUPLICATE_FIELD ${schema}/fields/1/name`]],
    ['has an unknown type', withField({ type: 'unicorn' }), [`INVALID_SCHEMA ${schema}/fields/0/type`]],
    ['has a type that is a number', withField({ type: 3 }), [`INVALID_SCHEMA ${schema}/fields/0/type`]],
    ...['object', 'array', 'list', 'geopoint', 'geojson', 'duration'].map((type): [string, unknown, string[]] => [
      `has the type ${type}`,
      withField({ type }),
      [`TYPE_NOT_SUPPORTED ${schema}/fields/0/type`],
    ]),
    ['has a date pattern', withField({ type: 'date', format: '%d/%m/%y' }), [`FORMAT_NOT_SUPPORTED ${schema}/fields/0/format`]],
    ['has a time of any form', withField({ type: 'time', format: 'any' }), [`FORMAT_NOT_SUPPORTED ${schema}/fields/0/format`]],
    ['has an e-mail address', withField({ type: 'string', format: 'email' }), [`FORMAT_NOT_SUPPORTED ${schema}/fields/0/format`]],
    ['has a text with a date pattern', withField({ type: 'string', format: '%Y' }), [`INVALID_SCHEMA ${schema}/fields/0/format`]],
    ['has a date with an odd format', withField({ type: 'date', format: 'iso' }), [`INVALID_SCHEMA ${schema}/fields/0/format`]],
    ['has an integer with a format', withField({ type: 'integer', format: 'hex' }), [`INVALID_SCHEMA ${schema}/fields/0/format`]],
    ['has a wide decimalChar', withField({ type: 'number', decimalChar: '::' }), [`INVALID_SCHEMA ${schema}/fields/0/decimalChar`]],
    ['groups by the decimalChar', withField({ type: 'number', groupChar: '.' }), [`INVALID_SCHEMA ${schema}/fields/0/groupChar`]],
    [
      'has one word for true and false',
      withField({ type: 'boolean', trueValues: ['0'] }),
      [`INVALID_SCHEMA ${schema}/fields/0/falseValues`],
    ],
    ['has missing values that are numbers', withSchema({ missingValues: [-99] }), [`INVALID_SCHEMA ${schema}/missingValues/0`]],
    ['has a field with a missing value', withField({ missingValues: 'NA' }), [`INVALID_SCHEMA ${schema}/fields/0/missingValues`]],
    ['has text in the schema that cannot be kept', withField({ description: 'a\0' }), [`INVALID_SCHEMA ${schema}/fields/0/description`]],
    ['has an odd fieldsMatch', withSchema({ fieldsMatch: 'roughly' }), [`INVALID_SCHEMA ${schema}/fieldsMatch`]],

    [
      'has a length that is text',
      withField({ constraints: { minLength: '3' } }),
      [`INVALID_SCHEMA ${schema}/fields/0/constraints/minLength`],
    ],
    ['has a pattern that is none', withField({ constraints: { pattern: '(' } }), [`INVALID_SCHEMA ${schema}/fields/0/constraints/pattern`]],
    [
      'has a long pattern',
      withField({ constraints: { pattern: 'x'.repeat(501) } }),
      [`INVALID_SCHEMA ${schema}/fields/0/constraints/pattern`],
    ],
    ['has an empty enum', withField({ constraints: { enum: [] } }), [`INVALID_SCHEMA ${schema}/fields/0/constraints/enum`]],
    [
      'has bounds that are no values of their field',
      withSchema({
        fields: [
          { name: 'i', type: 'integer', constraints: { minimum: 0.5 } },
          { name: 'd', type: 'date', constraints: { maximum: '2023-02-29' } },
          { name: 'b', type: 'boolean', constraints: { enum: [true, 'perhaps'] } },
        ],
      }),
      ['0/constraints/minimum', '1/constraints/maximum', '2/constraints/enum/1'].map((at) => `INVALID_SCHEMA ${schema}/fields/${at}`),
    ],

    ['has a key of an unknown field', withSchema({ primaryKey: ['id', 'no'] }), [`INVALID_SCHEMA ${schema}/primaryKey`]],
    ['has a key with a field twice', withSchema({ primaryKey: ['id', 'id'] }), [`INVALID_SCHEMA ${schema}/primaryKey`]],
    ['has a key that is a number', withSchema({ primaryKey: 1 }), [`INVALID_SCHEMA ${schema}/primaryKey`]],
    ['has a unique key of an unknown field', withSchema({ uniqueKeys: [['id'], ['no']] }), [`INVALID_SCHEMA ${schema}/uniqueKeys/1`]],
    ['has foreign keys that are no list', withSchema({ foreignKeys: {} }), [`INVALID_SCHEMA ${schema}/foreignKeys`]],
    ['has a reference to nothing', withSchema({ foreignKeys: [{ fields: 'id' }] }), [`INVALID_SCHEMA ${schema}/foreignKeys/0/reference`]],
    ['refers to no fields', linkTo({ resource: '' }), [`INVALID_SCHEMA ${schema}/foreignKeys/0/reference/fields`]],
    ['refers to more fields than it has', linkTo({ fields: ['id', 'id'] }), [`INVALID_SCHEMA ${schema}/foreignKeys/0/reference/fields`]],
    ['refers to an unknown field', linkTo({ fields: 'no' }), [`INVALID_SCHEMA ${schema}/foreignKeys/0/reference/fields`]],
    [
      'refers to an unknown dataset',
      linkTo({ resource: 'b', fields: 'id' }),
      [`UNKNOWN_REFERENCE_TARGET ${schema}/foreignKeys/0/reference/resource`],
    ],
    [
      'refers to another package',
      linkTo({ package: 'https://x.org/', fields: 'id' }),
      [`REMOTE_REFERENCE ${schema}/foreignKeys/0/reference/package`],
    ],
    [
      'refers from an unknown field',
      withSchema({ foreignKeys: [{ fields: 'no', reference: { fields: 'id' } }] }),
      [`INVALID_SCHEMA ${schema}/foreignKeys/0/fields`],
    ],

    ['has a wide delimiter', withResource({ dialect: { delimiter: '||' } }), ['INVALID_DIALECT /resources/0/dialect/delimiter']],
    ['has a line end as delimiter', withResource({ dialect: { delimiter: '\n' } }), ['INVALID_DIALECT /resources/0/dialect/delimiter']],
    ['quotes by the delimiter', withResource({ dialect: { delimiter: '"' } }), ['INVALID_DIALECT /resources/0/dialect/quoteChar']],
    ['has a header that is text', withResource({ dialect: { header: 'yes' } }), ['INVALID_DIALECT /resources/0/dialect/header']],
    [
      'has neither header nor schema',
      withResource({ schema: undefined, dialect: { header: false } }),
      ['INVALID_DIALECT /resources/0/dialect'],
    ],
    ['has two header rows', withResource({ dialect: { headerRows: [1, 2] } }), ['DIALECT_NOT_SUPPORTED /resources/0/dialect/headerRows']],
    [
      'has a null sequence',
      withResource({ dialect: { nullSequence: '\\N' } }),
      ['DIALECT_NOT_SUPPORTED /resources/0/dialect/nullSequence'],
    ],
    ['is on a sheet', withResource({ dialect: { sheetNumber: 2 } }), ['DIALECT_NOT_SUPPORTED /resources/0/dialect/sheetNumber']],
    ['ends lines oddly', withResource({ dialect: { lineTerminator: ';' } }), ['DIALECT_NOT_SUPPORTED /resources/0/dialect/lineTerminator']],
    [
      'escapes and doubles',
      withResource({ dialect: { escapeChar: '\\', doubleQuote: true } }),
      ['DIALECT_NOT_SUPPORTED /resources/0/dialect/escapeChar'],
    ],

    ['states another size', withResource({ bytes: 512 }), ['BYTES_MISMATCH /resources/0/bytes']],
    ['states another MD5', withResource({ hash: 'd41d8cd98f00b204e9800998ecf8427e' }), ['HASH_MISMATCH /resources/0/hash']],
    ['states another SHA-256', withResource({ hash: 'sha256:00' }), ['HASH_MISMATCH /resources/0/hash']],
  ];
  it.each(cases)('that %s', async (_, descriptor, expected) => {
    expect(await refusals(descriptor)).toEqual(expected);
  });

  it('that is too large, has too many resources or too many fields', async () => {
    const limits = { ...defaultPackageLimits, descriptorBytes: 300, resources: 1, fieldsPerDataset: 1 };
    expect(await refusals({ x: long, y: long }, {}, { limits })).toEqual(['DESCRIPTOR_TOO_LARGE ']);
    expect(await refusals({ resources: [{}, {}] }, {}, { limits })).toEqual(['TOO_MANY_RESOURCES /resources']);
    const fields = [{ name: 'x' }, { name: 'y' }];
    expect(await refusals(withSchema({ fields }), undefined, { limits })).toEqual([`TOO_MANY_FIELDS ${schema}/fields`]);
  });

  it('for the first of half a million wrong values', async () => {
    // Not all the same, or the archive would be refused for its ratio.
    const wrong = Array.from({ length: 500_000 }, (_, index) => (index * 7_919) % 1_000_003);
    for (const [descriptor, at] of [
      [withSchema({ missingValues: wrong }), 'missingValues/0'],
      [withField({ type: 'boolean', trueValues: wrong }), 'fields/0/trueValues/0'],
      [withField({ constraints: { enum: ['a', ...wrong.map((value) => [value])] } }), 'fields/0/constraints/enum/1'],
    ] as const) {
      expect(await refusals(descriptor)).toEqual([`INVALID_SCHEMA ${schema}/${at}`]);
    }
    expect(await refusals(withResource({ 'packhorse:dependsOn': wrong }))).toEqual(['INVALID_RESOURCE /resources/0/packhorse:dependsOn/0']);
  });

  it('that has a large schema file, or many that are large together', async () => {
    const limits = { ...defaultPackageLimits, descriptorBytes: 2_000 };
    const file = (bytes: number): string => `{"fields": [{"name": "id", "x": "${'x'.repeat(bytes)}"}]}`;
    const one = { 'a.csv': 'id\n', 's.json': file(2_000) };
    expect(await refusals(withResource({ schema: 's.json' }), one, { limits })).toEqual(['INVALID_SCHEMA /resources/0/schema']);
    const names = Array.from({ length: 5 }, (_, index) => `s${index}.json`);
    const many = { 'a.csv': 'id\n', ...Object.fromEntries(names.map((name) => [name, file(1_800)])) };
    const resources = names.map((name) => ({ name, path: 'a.csv', schema: name }));
    expect(await refusals({ resources }, many, { limits })).toEqual(['INVALID_SCHEMA /resources/4/schema']);
  });

  it('with the dataset named, the pointer escaped and the text quoted', async () => {
    const [problem] = await problemsOf(withResource({ name: 'crews', schema: { fields: [{ name: 'id', 'a/b~c': '\0' }] } }));
    expect(problem).toMatchObject({ code: 'INVALID_SCHEMA', pointer: `${schema}/fields/0/a~1b~0c`, resource: 'crews' });
    expect(problem?.message).toBe('"\\u0000" holds a NUL or half a surrogate pair.');
  });

  it('with the line and column of broken JSON', async () => {
    const [problem] = await problemsOf('{"name": "p",\n  oops}');
    expect(problem?.message).toBe('datapackage.json is not valid JSON: line 2, column 3: expected a property name in double quotes.');
  });

  it('with all faults at once, up to a thousand', async () => {
    const bad = {
      name: '',
      path: '../x',
      encoding: 'latin1',
      schema: { fields: [{ name: 'a', type: 'object' }, { name: 'a' }], primaryKey: 'b' },
    };
    expect(await refusals({ name: 'a\0', resources: [bad, { name: 'c', path: 'c.csv' }] })).toEqual([
      'INVALID_NAME /name',
      'INVALID_NAME /resources/0/name',
      'UNSAFE_PATH /resources/0/path',
      `TYPE_NOT_SUPPORTED ${schema}/fields/0/type`,
      `DUPLICATE_FIELD ${schema}/fields/1/name`,
      `INVALID_SCHEMA ${schema}/primaryKey`,
      'FILE_MISSING /resources/1/path',
    ]);
    const codes = await refusals({ resources: Array.from({ length: 2_000 }, () => ({})) });
    expect(codes).toHaveLength(1_001);
    expect(codes.at(-1)).toBe('TOO_MANY_PROBLEMS ');
  });

  it.each([
    ['a.csv', 'There is no datapackage.json in the package.'],
    ['datapackage.yml', 'There is no datapackage.json in the package, only a datapackage.yml; descriptors are read as JSON only.'],
    ['x/datapackage.yaml', 'There is no datapackage.json in the package, only a datapackage.yaml; descriptors are read as JSON only.'],
  ])('without a descriptor, but with %s', async (name, message) => {
    const zip = zipBytes([{ name, content: 'x' }]);
    const inspecting = inspectPackage(memoryStorage({ zip }), { key: 'zip', kind: 'ZIP', digest: 'sha256:00' }, settings);
    await expect(inspecting).rejects.toMatchObject({ problems: [{ code: 'NO_DESCRIPTOR', pointer: '', message }] });
  });

  it('with codes that are each tested somewhere here', () => {
    const tests = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.test.ts'));
    const text = tests.map((name) => readFileSync(`${import.meta.dirname}/${name}`, 'utf8')).join('');
    expect(packageProblemCodes.filter((code) => !text.includes(code))).toEqual([]);
  });
});

describe('sizes and hashes that the descriptor states', () => {
  const content = 'id\n1\n';
  const hex = (algorithm: string): string => createHash(algorithm).update(content).digest('hex');

  it('may be in any of the known algorithms', async () => {
    const stated = [
      hex('md5'),
      `md5:${hex('md5')}`,
      `sha1:${hex('sha1')}`,
      `sha256:${hex('sha256').toUpperCase()}`,
      `sha512:${hex('sha512')}`,
    ];
    for (const hash of [...stated, '']) {
      const [dataset] = (await planOf(withResource({ hash, bytes: 5 }))).datasets;
      expect(dataset).toMatchObject({ bytes: 5, hash: `sha256:${hex('sha256')}` });
    }
  });

  it('are noted in an unknown algorithm', async () => {
    const { notes } = await planOf(withResource({ hash: 'crc32:00' }));
    expect(notes).toEqual(['The hash "crc32:00" of "a" has an algorithm that is not checked here.']);
  });

  it('are noted where they may be wrong', async () => {
    const { notes, datasets } = await planOf(withResource({ hash: 'sha1:00', bytes: 9 }), undefined, { onHashMismatch: 'WARN' });
    expect(notes).toEqual(['"a" states 9 bytes; its file has 5.', '"a" states the hash "sha1:00"; the sha1 of its file is another.']);
    expect(datasets[0]).toMatchObject({ bytes: 5, hash: `sha256:${hex('sha256')}` });
  });

  it('are judged for each of the resources of one file', async () => {
    const [one, two] = ['md5:00', 'sha1:00'].map((hash, index) => ({ name: `r${index}`, path: 'a.csv', hash }));
    expect(await refusals({ resources: [one, two] })).toEqual(['HASH_MISMATCH /resources/0/hash', 'HASH_MISMATCH /resources/1/hash']);
  });
});
