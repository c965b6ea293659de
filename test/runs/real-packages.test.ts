// Packages that people publish, through the API from upload to rows: the counts that ../shared/data/README.md lists, cell by cell where that is
// cheap, and once more, which must change nothing. Each run is planned before, and does what its plan said.
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';
import { parse as csvStream } from 'csv-parse';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { packFolder } from '../../src/packages/pack.ts';
import { startApp } from '../support/app.ts';
import { shared, zipFolder } from '../support/folders.ts';
import { contentOf, liveRows, type StoredDataset, storedDatasets } from '../support/source.ts';
import { createWorkspace, mutate, register, stage } from '../support/story.ts';
import { keepsItsWord } from './planning.ts';

const data = (...parts: string[]) => shared('data', ...parts);

describe.skipIf(!existsSync(shared('data')))('packages that people publish', async () => {
  const app = await startApp();
  const { pool } = app.app.db;

  async function load(workspaceId: string, zip: Buffer): Promise<Record<string, Record<string, string>>> {
    const id = await register(app, workspaceId, await stage(app, workspaceId, zip));
    const run = await keepsItsWord(app, workspaceId, id, 60_000);
    expect(run.readiness).toEqual({ ready: true, blockers: [] });
    return Object.fromEntries(run.steps.map(({ dataset, rows }: any) => [dataset, rows]));
  }

  const account = (numbers: Record<string, number>) => ({
    source: '0',
    loaded: '0',
    updated: '0',
    unchanged: '0',
    rejected: '0',
    blocked: '0',
    unprocessed: '0',
    ...Object.fromEntries(Object.entries(numbers).map(([name, count]) => [name, String(count)])),
  });

  /** All versions of all rows, live or not. */
  async function versions(datasets: Map<string, StoredDataset>): Promise<number> {
    let count = 0;
    for (const { table } of datasets.values()) count += (await pool.query(`SELECT count(*)::int AS n FROM records.${table}`)).rows[0].n;
    return count;
  }

  const packages: [string, number, Record<string, number>][] = [
    [
      'chinook',
      15_607,
      {
        album: 347,
        artist: 275,
        customer: 59,
        employee: 8,
        genre: 25,
        invoice: 412,
        invoiceline: 2_240,
        mediatype: 5,
        playlist: 18,
        playlisttrack: 8_715,
        track: 3_503,
      },
    ],
    ['etn-2014-demer', 237_041, { tags: 16, receivers: 140, animals: 16, deployments: 1_060, detections: 235_809 }],
    [
      'language-codes',
      1_975,
      { 'language-codes': 183, 'language-codes-3b2': 183, 'language-codes-full': 487, 'ietf-language-tags': 1_122 },
    ],
    ['world-cities', 34_032, { 'world-cities': 34_032 }],
    ['population', 17_195, { population: 17_195 }],
    [
      'dac-crs-code-lists',
      2_000,
      {
        'dac-members': 32,
        'multilateral-donors': 80,
        'non-dac-donors': 24,
        'private-donors': 47,
        agencies: 788,
        'nature-of-submission': 6,
        recipients: 166,
        'channel-codes': 409,
        'collaboration-types': 7,
        'flow-types': 9,
        'finance-types': 47,
        'finance-type-categories': 7,
        'aid-types': 25,
        'aid-type-categories': 8,
        sectors: 296,
        'sector-categories': 49,
      },
    ],
  ];

  const workspaces = new Map<string, string>();
  it.each(packages)('loads %s: %i rows, and a second time none', { timeout: 300_000 }, async (name, total, counts) => {
    const workspaceId = await createWorkspace(app, `real-${name}`);
    workspaces.set(name, workspaceId);
    const zip = await buffer(await packFolder(data(name)));
    const first = await load(workspaceId, zip);
    expect(first).toEqual(
      Object.fromEntries(Object.entries(counts).map(([dataset, count]) => [dataset, account({ source: count, loaded: count })])),
    );
    expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(total);
    const datasets = await storedDatasets(pool, workspaceId);
    expect(Object.fromEntries([...datasets].map(([dataset, { rowCount }]) => [dataset, rowCount]))).toEqual(counts);
    expect(await versions(datasets)).toBe(total);

    const second = await load(workspaceId, zip);
    expect(second).toEqual(
      Object.fromEntries(Object.entries(counts).map(([dataset, count]) => [dataset, account({ source: count, unchanged: count })])),
    );
    expect(await versions(datasets)).toBe(total);
  });

  describe('hold what the files hold', () => {
    const stored = async (name: string, dataset = name) => {
      const found = (await storedDatasets(pool, workspaces.get(name) ?? '')).get(dataset);
      if (found === undefined) throw new Error(`no dataset ${dataset}`);
      return found;
    };
    /** The file by a parser that is not ours. */
    const file = (...parts: string[]): string[][] => parse(readFileSync(data(...parts)), { bom: true });
    const lines = (cells: (string | null)[][]) => cells.map((row) => JSON.stringify(row.map((cell) => cell ?? ''))).sort();

    it.each(['language-codes', 'language-codes-3b2', 'language-codes-full', 'ietf-language-tags'])('%s, every cell', async (dataset) => {
      const [header, ...rows] = file('language-codes', 'data', `${dataset}.csv`);
      const table = await stored('language-codes', dataset);
      expect(table.columns.map(({ name }) => name)).toEqual(header);
      const flags = (header ?? []).flatMap((name, at) => (name === 'dftLang' ? [at] : [])); // a boolean, in the file 1 or 0
      const typed = rows.map((row) => row.map((cell, at) => (flags.includes(at) ? String(cell === '1') : cell)));
      expect(lines(await liveRows(pool, table))).toEqual(lines(typed));
    });

    it('world-cities, every cell, and by the API the first page', async () => {
      const [header, ...rows] = file('world-cities', 'data', 'world-cities.csv');
      const table = await stored('world-cities');
      expect(table.columns.map(({ name }) => name)).toEqual(header);
      expect(lines(await liveRows(pool, table))).toEqual(lines(rows));
      const { data: answer, errors } = await app.graphql(
        `query ($id: ID!) { node(id: $id) { ... on Workspace { datasets { edges { node { rowCount rows(first: 100) { edges { node { values } } pageInfo { hasNextPage } } } } } } } }`,
        { id: workspaces.get('world-cities') },
      );
      expect(errors).toEqual([]);
      const [{ node }] = answer.node.datasets.edges;
      expect(node.rowCount).toBe('34032');
      expect(node.rows.pageInfo.hasNextPage).toBe(true);
      const texts = node.rows.edges.map((edge: any) => (header ?? []).map((name) => String(edge.node.values[name] ?? '')));
      expect(texts).toEqual(rows.slice(0, 100));
    });

    it('population, every cell: years and numbers as they are written', async () => {
      const [, ...rows] = file('population', 'data', 'population.csv');
      expect(lines(await liveRows(pool, await stored('population')))).toEqual(lines(rows));
    });

    it('etn-2014-demer, detections: keys, instants and coordinates of all 235,809 rows', async () => {
      const fields = ['detection_id', 'date_time', 'receiver_id', 'tag_serial_number', 'deploy_latitude', 'deploy_longitude'];
      const ofFile: string[] = [];
      const parser = createReadStream(data('etn-2014-demer', 'detections.csv.gz'))
        .pipe(createGunzip())
        .pipe(csvStream({ columns: true, bom: true }));
      for await (const record of parser as AsyncIterable<Record<string, string>>)
        ofFile.push(fields.map((field) => record[field]).join('|'));
      const table = await stored('etn-2014-demer', 'detections');
      const columns = fields.flatMap((field) => table.columns.filter(({ name }) => name === field));
      const ofTable = (await liveRows(pool, { ...table, columns })).map((cells) => cells.map((cell) => cell ?? '').join('|'));
      expect(contentOf(ofTable)).toEqual(contentOf(ofFile));
    });

    it('chinook, names, money and instants of its JSON', async () => {
      const table = await stored('chinook', 'invoiceline');
      const lines = readFileSync(data('chinook', 'data', 'InvoiceLine.ndjson'), 'utf8')
        .trim()
        .split('\n');
      // No value of these files is beyond what JSON.parse reads exactly, except a decimal’s scale.
      const expected = lines.map((line) => Object.values(JSON.parse(line)).map(String));
      const numbers = (rows: (string | null)[][]) => rows.map((row) => row.map((cell) => String(Number(cell))));
      expect(numbers(await liveRows(pool, table))).toEqual(numbers(expected));
    });
  });

  describe('that cannot be loaded are refused at registration, with every reason', () => {
    async function problems(name: string): Promise<{ code: string; pointer: string; resource: string | null; message: string }[]> {
      const workspaceId = await createWorkspace(app, `refused-${name}`);
      const packageId = await stage(app, workspaceId, await zipFolder(data(name)));
      const answer = await mutate(app, 'registerDataRun', { workspaceId, packageId });
      expect(answer).toMatchObject({ __typename: 'InvalidPackageError', code: 'INVALID_PACKAGE' });
      const { rows } = await pool.query('SELECT FROM data_run r JOIN workspace w ON w.id = r.workspace_id WHERE w.slug = $1', [
        `refused-${name}`,
      ]);
      expect(rows).toEqual([]);
      return answer.problems;
    }
    const codes = (found: { code: string; pointer: string }[]) => found.map(({ code, pointer }) => `${code} ${pointer}`).sort();

    it('country-codes-yaml: only a datapackage.yml', async () => {
      expect(codes(await problems('country-codes-yaml'))).toEqual(['NO_DESCRIPTOR ']);
    });

    it('covid-19-incomplete: five files are not there', async () => {
      const found = await problems('covid-19-incomplete');
      const stated = JSON.parse(readFileSync(data('covid-19-incomplete', 'datapackage.json'), 'utf8')).resources as { path: string }[];
      const missing = stated.flatMap(({ path: file }, at) =>
        existsSync(data('covid-19-incomplete', file)) ? [] : [`FILE_MISSING /resources/${at}/path`],
      );
      expect(missing).toHaveLength(5);
      expect(codes(found).filter((code) => code.startsWith('FILE_MISSING'))).toEqual(missing.sort());
      expect(found.filter(({ code }) => code === 'INVALID_SCHEMA').map(({ pointer }) => pointer)).toEqual([
        expect.stringMatching(/^\/resources\/\d\/schema\/fields\/\d\/format$/),
        expect.stringMatching(/^\/resources\/\d\/schema\/fields\/\d\/format$/),
      ]);
    });

    it('hot-delong-timedepth: a cycle, a dataset that is not there, keys that are no fields, a missing file', async () => {
      const found = await problems('hot-delong-timedepth');
      expect(codes(found)).toContain('FILE_MISSING /resources/0/path');
      expect(found.find(({ code }) => code === 'DEPENDENCY_CYCLE')).toMatchObject({
        message: expect.stringContaining('samples_ctd_bco-dmo → samples_niskin_bco-dmo → samples_ctd_bco-dmo'),
      });
      expect(found.filter(({ code }) => code === 'UNKNOWN_REFERENCE_TARGET').map(({ pointer, message }) => [pointer, message])).toEqual(
        Array.from({ length: 3 }, () => [
          expect.stringMatching(/^\/resources\/\d+\/schema\/foreignKeys\/\d+\/reference\/resource$/),
          'A foreign key points to "samples_ncbi", which is not in the package.',
        ]),
      );
      expect(found.filter(({ pointer }) => pointer.endsWith('/schema/primaryKey'))).not.toEqual([]);
    });

    it('tara-oceans-polar: four references to a dataset that is not there, a key that is no field', async () => {
      const found = await problems('tara-oceans-polar');
      expect(found.filter(({ code }) => code === 'UNKNOWN_REFERENCE_TARGET')).toHaveLength(4);
      for (const { code, message } of found) if (code === 'UNKNOWN_REFERENCE_TARGET') expect(message).toContain('"sampling_events"');
      expect(found.filter(({ pointer }) => pointer.endsWith('/schema/primaryKey'))).toHaveLength(1);
    });
  });
});
