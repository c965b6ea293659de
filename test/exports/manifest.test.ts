// What stands in an export beside the data.
import { existsSync, readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  byCodePoint,
  canonicalJson,
  type DataFormat,
  dataPath,
  descriptorBytes,
  type ManifestResource,
  manifestDigest,
  packageDescriptor,
} from '../../src/exports/archive/manifest.ts';
import { judgePath } from '../../src/packages/paths.ts';

const schema = { fields: [{ name: 'id', type: 'integer' }], primaryKey: ['id'] };

function resource(name: string, format: DataFormat = 'csv'): ManifestResource {
  const path = dataPath([name], format).get(name)!;
  return { name, path, format, bytes: 12, sha256: 'ab'.repeat(32), schema };
}

const pathOf = (name: string) => dataPath([name], 'csv').get(name);

describe('the descriptor', () => {
  it('says of each resource all that is needed to load it and to check it', () => {
    expect(packageDescriptor([resource('b', 'parquet'), resource('a')])).toEqual({
      $schema: 'https://datapackage.org/profiles/2.0/datapackage.json',
      name: 'workspace-export',
      resources: [
        {
          name: 'a',
          type: 'table',
          path: 'data/a.csv',
          format: 'csv',
          mediatype: 'text/csv',
          encoding: 'utf-8',
          bytes: 12,
          hash: `sha256:${'ab'.repeat(32)}`,
          dialect: { lineTerminator: '\n' },
          schema,
        },
        {
          name: 'b',
          type: 'table',
          path: 'data/b.parquet',
          format: 'parquet',
          mediatype: 'application/vnd.apache.parquet',
          bytes: 12,
          hash: `sha256:${'ab'.repeat(32)}`,
          schema,
        },
      ],
    });
  });

  it('lists resources by code points, whatever order they came in', () => {
    const names = ['b', 'B', 'a', '\u{fb01}', '\u{10400}', 'é'];
    const { resources } = packageDescriptor(names.map((name) => resource(name))) as { resources: { name: string }[] };
    expect(resources.map(({ name }) => name)).toEqual(['B', 'a', 'b', 'é', '\u{fb01}', '\u{10400}']);
    expect(byCodePoint('a', 'a')).toBe(0);
  });

  const profiles = new URL('../../../shared/data/_profiles/2.0/', import.meta.url);
  it.skipIf(!existsSync(profiles))('is valid under the official profile of version 2', () => {
    const ajv = new Ajv({ strict: false, logger: false, validateFormats: false });
    const validate = ajv.compile(JSON.parse(readFileSync(new URL('datapackage.json', profiles), 'utf8')));
    const descriptor = packageDescriptor([resource('a'), resource('b', 'ndjson'), resource('c', 'parquet')]);
    expect(validate(descriptor), JSON.stringify(validate.errors)).toBe(true);
    expect(validate({ ...descriptor, resources: [] })).toBe(false);
  });

  it('has a digest that neither the order of properties nor white space changes', () => {
    const descriptor = packageDescriptor([resource('a')]);
    const bytes = descriptorBytes(descriptor);
    expect(bytes.toString().endsWith('}\n')).toBe(true);
    const reread = JSON.parse(bytes.toString()) as object;
    const turned = Object.fromEntries(Object.entries(reread).toReversed());
    expect(manifestDigest(turned)).toBe(manifestDigest(descriptor));
    expect(manifestDigest(descriptor)).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(manifestDigest(packageDescriptor([resource('b')]))).not.toBe(manifestDigest(descriptor));
  });

  it('is written in the canonical form that RFC 8785 gives as its example', () => {
    const example = {
      numbers: [Number('333333333.33333329'), 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
      string: '\u20ac$\u000F\u000aA\'\u0042\u0022\u005c\\"/',
      literals: [null, true, false],
    };
    expect(canonicalJson(example)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
    expect(() => canonicalJson(['\ud800'])).toThrow(/surrogate/);
    expect(() => canonicalJson(() => 1)).toThrow(/JSON/);
  });
});

describe('the paths of data files', () => {
  it('are the names where a file system takes them as they are', () => {
    for (const name of ['sales', 'Größe_2', '語', 'हिन्दी', 'a.b-c', 'two words']) expect(pathOf(name)).toBe(`data/${name}.csv`);
    expect(dataPath(['a'], 'parquet').get('a')).toBe('data/a.parquet');
    expect(dataPath([], 'csv').size).toBe(0);
  });

  it('are harmless for every other name, with digits that tell it apart', () => {
    const cases = [
      ['../etc/passwd', '_._etc_passwd'],
      ['..', '__'],
      ['.hidden', '_hidden'],
      ['a/b\\c:d*e?f"g<h>i|j%2e', 'a_b_c_d_e_f_g_h_i_j_2e'],
      ['a\u0000b\u0007\n', 'a_b__'],
      [' a ', '_a_'],
      ['a.', 'a_'],
      ['CON', '_CON'],
      ['nul.x', '_nul.x'],
      ['com1', '_com1'],
      ['a\u200db\u202e', 'a_b_'],
      ['e\u0301', 'é'],
      ['x-0123abcd', 'x-0123abcd'],
    ] as const;
    for (const [name, stem] of cases) {
      expect(pathOf(name)).toMatch(new RegExp(`^data/${stem.replaceAll('.', '\\.')}-[0-9a-f]{8}\\.csv$`, 'u'));
    }
    expect(pathOf('console')).toBe('data/console.csv');
  });

  it('have digits for each of those that differ by case or composition alone', () => {
    const paths = dataPath(['Sales', 'sales', 'other', 'straße', 'STRASSE'], 'csv');
    expect(paths.get('Sales')).toMatch(/^data\/Sales-[0-9a-f]{8}\.csv$/);
    expect(paths.get('sales')).toMatch(/^data\/sales-[0-9a-f]{8}\.csv$/);
    expect(paths.get('straße')).toMatch(/^data\/straße-[0-9a-f]{8}\.csv$/);
    expect(paths.get('other')).toBe('data/other.csv');
  });

  it('stay apart where one name is what another would become', () => {
    const hashed = pathOf('a/b')!.slice('data/'.length, -'.csv'.length);
    const paths = dataPath(['a/b', hashed], 'csv');
    expect(new Set(paths.values()).size).toBe(2);
  });

  it('stay apart where two names have the same eight digits', () => {
    // Found by trying: SHA-256 of both begins alike, and what differs is replaced.
    const [one, other] = twins();
    const paths = dataPath([one, other], 'csv');
    expect(pathOf(one)).toBe(pathOf(other));
    expect(paths.get(one)).toMatch(/-[0-9a-f]{64}\.csv$/);
    expect(paths.get(other)).not.toBe(paths.get(one));
  });

  const anyName = fc.oneof(
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 }),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }),
    fc.constantFrom('A', 'a', 'é', 'e\u0301', 'K', '\u212a', 'İ', 'i\u0307', 'CON', 'con', '..', '語'.repeat(200)),
    fc.stringMatching(/^[a-b/]{1,3}(-[0-9a-f]{8})?$/),
  );

  it('pass our own checks, are short and all different, and do not depend on the order, for any names', () => {
    fc.assert(
      fc.property(fc.uniqueArray(anyName, { maxLength: 12 }), (names) => {
        const paths = dataPath(names, 'csv');
        expect([...paths.keys()]).toEqual(names);
        for (const path of paths.values()) {
          expect(judgePath(path)).toEqual({ kind: 'local', path });
          expect(Buffer.byteLength(path)).toBeLessThanOrEqual('data/'.length + 100 + '.csv'.length);
          expect(path).toMatch(/^data\/[^./\\\p{C}][^/\\\p{C}]*\.csv$/u);
        }
        expect(new Set(Array.from(paths.values(), (path) => path.toLowerCase().normalize('NFC'))).size).toBe(names.length);
        const turned = dataPath(names.toReversed(), 'csv');
        for (const name of names) expect(turned.get(name)).toBe(paths.get(name));
      }),
      { numRuns: 500 },
    );
  });
});

/** Names of control characters alone become the same stem; among some 100,000 two have the same first 32 bits. */
function twins(): [string, string] {
  const seen = new Map<string, string>();
  for (let number = 0; ; number += 1) {
    const name = number.toString(2).padStart(24, '0').replaceAll('0', '/').replaceAll('1', '*');
    const path = pathOf(name)!;
    const twin = seen.get(path);
    if (twin !== undefined) return [twin, name];
    seen.set(path, name);
  }
}
