// An export is a package: loaded into an empty workspace and exported again, it has equal data files and an equal manifest digest.
import { existsSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { packFolder } from '../../src/packages/pack.ts';
import { startApp } from '../support/app.ts';
import { shared } from '../support/folders.ts';
import { createWorkspace, zipOf } from '../support/story.ts';
import { entriesOf, faultsUnderProfile, jsonIn, sha256 } from './archives.ts';
import { every } from './round-trip-data.ts';
import { exported, loadedZip, mutateExport } from './story.ts';

const app = await startApp();

async function workspaceFor(format: string): Promise<string> {
  const workspaceId = await createWorkspace(app);
  const set = await mutateExport(app, 'updateExportSettings', { workspaceId, format });
  expect(set.__typename, JSON.stringify(set)).toBe('Workspace');
  return workspaceId;
}

/** Both exports, and the files in them by name. */
async function roundTrip(zip: Buffer, format: string) {
  const first = await workspaceFor(format);
  await loadedZip(app, first, zip);
  const one = await exported(app, first);
  const second = await workspaceFor(format);
  await loadedZip(app, second, one.zip);
  const two = await exported(app, second);
  const files = [await entriesOf(one.zip), await entriesOf(two.zip)] as const;
  const data = files.map((entries) =>
    Object.fromEntries([...entries].filter(([path]) => path.startsWith('data/')).map(([path, bytes]) => [path, sha256(bytes)])),
  );
  return { one, two, files: files[0], hashes: data };
}

async function holds(zip: Buffer, format: string) {
  const { one, two, files, hashes } = await roundTrip(zip, format);
  expect(Object.keys(hashes[0] ?? {}).length).toBeGreaterThan(0);
  expect(hashes[1]).toEqual(hashes[0]);
  expect(two.execution.manifestDigest).toBe(one.execution.manifestDigest);
  expect(two.execution.counts).toEqual(one.execution.counts);
  // What the API says, what the package says, and what is in it are the same.
  const descriptor = jsonIn(files, 'datapackage.json');
  for (const { path, bytes, hash } of descriptor.resources)
    expect([bytes, hash]).toEqual([files.get(path)?.length, `sha256:${hashes[0]?.[path]}`]);
  expect(faultsUnderProfile(descriptor)).toBeNull();
  const record = jsonIn(files, 'packhorse-export.json');
  expect(record).toMatchObject({ manifestDigest: one.execution.manifestDigest, cutoff: one.execution.cutoff });
  expect(record.counts.map(({ dataset, rows, bytes }: any) => ({ dataset, rows, bytes: String(bytes) }))).toEqual(one.execution.counts);
  return files;
}

it.each(['CSV', 'NDJSON'])('every type, key and kind of name comes back as %s', async (format) => {
  const files = await holds(await zipOf('every', every), format);
  const text = (path: string) => files.get(path)?.toString('utf8') ?? '';
  const descriptor = jsonIn(files, 'datapackage.json');
  const resource = (name: string) => descriptor.resources.find((one: any) => one.name === name);
  expect(descriptor.resources.map(({ name }: any) => name)).toEqual([
    'empty',
    'keyless',
    'kinds',
    'links / of …',
    'long',
    'one column',
    'plain',
  ]);
  expect(resource('kinds').schema.fields[4]).toEqual({ name: 'flag', type: 'boolean', constraints: { enum: [true, false] } });
  expect(resource('kinds').schema.fields[1]).toEqual({ name: 'text', type: 'string', title: 'Ein Text', constraints: { maxLength: 100 } });
  expect(resource('links / of …').schema.foreignKeys).toEqual([
    { fields: ['parent_a', 'parent_b'], reference: { fields: ['a', 'b'] } },
    { fields: ['kind'], reference: { resource: 'kinds', fields: ['id'] } },
  ]);
  if (format === 'CSV') {
    // "\N", NULL and NULL1 are texts of the data, and the cells that were empty are null.
    expect(resource('kinds').schema.missingValues).toEqual(['']);
    expect(resource('one column').schema.missingValues).toEqual(['NULL']);
    expect(text('data/kinds.csv').split('\n')[1]).toBe(
      '1,"a ""quoted"", cell",9223372036854775808,1.50,true,1861-07-01,23:59:59.123456,2020-02-29T12:00:00,-0044,1999-12,x',
    );
    expect(text('data/kinds.csv')).toContain(
      '1000000000000000000000000000000,-INF,false,0001-01-01,00:00:00,1969-12-31T23:59:59.999999999Z,12000,',
    );
    expect(text('data/keyless.csv')).toBe('n,x\n1.5,a\n1.5,b\n1.50,b\n1.50,b\n,\n');
    expect(text('data/empty.csv')).toBe('id,note\n');
  } else {
    expect(resource('kinds').schema.missingValues).toEqual([]);
    expect(text('data/kinds.ndjson')).toContain('"whole":1000000000000000000000000000000,"part":"-INF","flag":false');
    expect(text('data/kinds.ndjson')).toContain('"part":1.50,');
    expect(text('data/empty.ndjson')).toBe('');
    expect(text('data/one column.ndjson')).toBe('{"only":""}\n{"only":"\\\\."}\n{"only":"a"}\n{"only":"b"}\n');
  }
});

it('null and the empty text stay apart in CSV, and no text of the data is the marker', async () => {
  const rows = 'id,text\n1,""\n2,-\n3,NULL\n4,NULL1\n';
  const schema = {
    fields: [
      { name: 'id', type: 'string' },
      { name: 'text', type: 'string' },
    ],
    primaryKey: 'id',
    missingValues: ['-'],
  };
  const files = await holds(await zipOf('apart', [{ name: 'apart', rows, schema }]), 'CSV');
  expect(jsonIn(files, 'datapackage.json').resources[0].schema.missingValues).toEqual(['NULL2']);
  expect(files.get('data/apart.csv')?.toString()).toBe('id,text\n1,\n2,NULL2\n3,NULL\n4,NULL1\n');
});

const packages = ['chinook', 'etn-2014-demer', 'language-codes', 'world-cities', 'population', 'dac-crs-code-lists'];

it.skipIf(!existsSync(shared('data'))).each(packages.flatMap((name) => ['CSV', 'NDJSON'].map((format) => [name, format] as const)))(
  'the package %s that people publish, as %s',
  { timeout: 300_000 },
  async (name, format) => {
    await holds(await buffer(await packFolder(shared('data', name))), format);
  },
);
