// Real files, as they are published. Kept beside the project; skipped where they are absent.
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type FieldType, type ForeignKey, fieldTypes } from '../../src/packages/plan.ts';
import { csvDialect, field, plan, recordsDatabase, schema, shared } from './loading.ts';

const db = await recordsDatabase();

interface StatedResource {
  readonly name: string;
  readonly path: string;
  readonly dialect?: { readonly delimiter?: string };
  readonly schema: {
    readonly fields: readonly {
      readonly name: string;
      readonly type?: string;
      readonly constraints?: { readonly required?: boolean; readonly unique?: boolean; readonly enum?: readonly string[] };
    }[];
    readonly primaryKey?: string | readonly string[];
    readonly foreignKeys?: readonly {
      readonly fields: string | readonly string[];
      readonly reference: { readonly resource?: string; readonly fields: string | readonly string[] };
    }[];
    readonly missingValues?: readonly string[];
  };
}

/** Enough of a descriptor's reading for these packages; the whole of it is tested where it is done. */
function resources(folder: string) {
  const descriptor: { resources: StatedResource[] } = JSON.parse(readFileSync(path.join(folder, 'datapackage.json'), 'utf8'));
  return descriptor.resources.map((resource) => {
    const fields = resource.schema.fields.map(({ name, type, constraints }) => {
      const known: FieldType = fieldTypes.find((candidate) => candidate === type) ?? 'any';
      return field(name, known, constraints ?? {});
    });
    const foreignKeys = (resource.schema.foreignKeys ?? []).map(
      (key): ForeignKey => ({
        fields: [key.fields].flat(),
        reference: { resource: key.reference.resource || resource.name, fields: [key.reference.fields].flat() },
      }),
    );
    const table = schema(fields, {
      foreignKeys,
      primaryKey: [resource.schema.primaryKey ?? []].flat(),
      ...(resource.schema.missingValues ? { missingValues: resource.schema.missingValues } : {}),
    });
    const file = path.join(folder, resource.path);
    const dataset = plan(resource.name, table, {
      gzip: file.endsWith('.gz'),
      format: file.endsWith('ndjson') ? 'ndjson' : file.endsWith('json') ? 'json' : 'csv',
      dialect: { ...csvDialect, delimiter: resource.dialect?.delimiter ?? ',' },
    });
    return { dataset, file };
  });
}

async function loadAll(name: string, order?: readonly string[]) {
  const all = resources(shared(`data/${name}`));
  const sorted = order === undefined ? all : order.flatMap((wanted) => all.find(({ dataset }) => dataset.name === wanted) ?? []);
  const counts: Record<string, unknown> = {};
  for (const { dataset, file } of sorted) {
    const outcome = await db.load(dataset, '', { open: async () => createReadStream(file) });
    counts[dataset.name] = outcome === 'abandoned' ? outcome : outcome.state === 'succeeded' ? outcome.rows.loaded : outcome;
  }
  return counts;
}

const has = (name: string) => existsSync(shared(`data/${name}/datapackage.json`));

describe('real packages', () => {
  it.skipIf(!has('language-codes'))('language-codes', async () => {
    expect(Object.values(await loadAll('language-codes'))).toEqual([183, 183, 487, 1_122]);
  });

  it.skipIf(!has('world-cities'))('world-cities and population', async () => {
    expect(Object.values(await loadAll('world-cities'))).toEqual([34_032]);
    expect(Object.values(await loadAll('population'))).toEqual([17_195]);
  });

  it.skipIf(!has('chinook'))('chinook: JSON, decimals, a self reference', async () => {
    const order = [
      'artist',
      'album',
      'genre',
      'mediatype',
      'track',
      'playlist',
      'playlisttrack',
      'employee',
      'customer',
      'invoice',
      'invoiceline',
    ];
    expect(await loadAll('chinook', order)).toEqual({
      artist: 275,
      album: 347,
      genre: 25,
      mediatype: 5,
      track: 3_503,
      playlist: 18,
      playlisttrack: 8_715,
      employee: 8,
      customer: 59,
      invoice: 412,
      invoiceline: 2_240,
    });
  });

  it.skipIf(!has('etn-2014-demer'))('etn-2014-demer: 235,809 detections, six foreign keys', async () => {
    expect(await loadAll('etn-2014-demer', ['tags', 'receivers', 'animals', 'deployments', 'detections'])).toEqual({
      tags: 16,
      receivers: 140,
      animals: 16,
      deployments: 1_060,
      detections: 235_809,
    });
  });
});
