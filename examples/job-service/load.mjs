// Loads one dataset in the transaction it is given: the rows as JSON objects, by primary key.
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { parse } from 'csv-parse';

const batchRows = 500;

/** How the job ends: its state, and what it tells beside it. Rejects where the data cannot be had, or `signal` stops it. */
export async function load(client, { workspaceId, dataset, data, onMissingReference }, { signal, report }) {
  const response = await fetch(data.url, { signal });
  if (!response.ok) throw new Error(`The data were not given: ${response.status}.`);
  let done = 0;
  let told = 0;
  const meter = new Transform({
    transform(chunk, _encoding, next) {
      done += chunk.length;
      if (done - told < 1_048_576) return next(null, chunk);
      told = done;
      report(done).then(() => next(null, chunk), next);
    },
  });
  const { dialect, schema } = dataset;
  const rows = { source: 0, loaded: 0, updated: 0, unchanged: 0, rejected: 0, blocked: 0, unprocessed: 0 };
  const missing = new Map();
  const parser = parse({
    columns: true,
    bom: true,
    delimiter: dialect.delimiter,
    quote: dialect.quoteChar,
    escape: dialect.escapeChar ?? dialect.quoteChar,
    comment: dialect.commentChar,
    ltrim: dialect.skipInitialSpace,
  });

  async function write(batch) {
    const kept = await withReferences(client, workspaceId, schema?.foreignKeys ?? [], batch, missing);
    rows.blocked += batch.length - kept.length;
    const keyed = new Map(kept.map((row) => [keyOf(schema?.primaryKey, row, rows.source + batch.indexOf(row)), row]));
    const { rows: written } = await client.query(
      `INSERT INTO record AS r (workspace, dataset, key, data) SELECT $1, $2, * FROM unnest($3::text[], $4::jsonb[])
       ON CONFLICT (workspace, dataset, key) DO UPDATE SET data = EXCLUDED.data WHERE r.data <> EXCLUDED.data RETURNING xmax = 0 AS is_new`,
      [workspaceId, dataset.name, [...keyed.keys()], [...keyed.values()].map((row) => JSON.stringify(row))],
    );
    const loaded = written.filter((row) => row.is_new).length;
    rows.loaded += loaded;
    rows.updated += written.length - loaded;
    rows.unchanged += kept.length - written.length;
    rows.source += batch.length;
  }

  try {
    const source = [Readable.fromWeb(response.body), meter, ...(dataset.gzip ? [createGunzip()] : []), parser];
    await pipeline(...source, async (parsed) => {
      let batch = [];
      for await (const row of parsed) {
        if (batch.push(row) < batchRows) continue;
        await write(batch);
        batch = [];
      }
      if (batch.length > 0) await write(batch);
    }, { signal });
  } catch (error) {
    if (!String(error.code).startsWith('CSV_')) throw error;
    const source = rows.source + 1;
    const failure = { code: 'ROW_INVALID', summary: error.message, retryable: false, phase: 'reading' };
    return { state: 'failed', failure, rows: { ...rows, source, loaded: 0, updated: 0, unchanged: 0, blocked: 0, unprocessed: source } };
  }
  if (missing.size === 0) return { state: 'succeeded', rows };
  const blockers = [...missing].map(([reference, keys]) => ({
    code: 'REFERENCE_MISSING',
    dataset: dataset.name,
    message: `Rows of ${dataset.name} point at ${reference}, where there are no such rows.`,
    count: rows.blocked,
    sampleKeys: [...keys].slice(0, 10),
    clearedBy: [reference],
  }));
  if (onMissingReference === 'BLOCK') return { state: 'blocked', rows, blockers };
  const failure = { code: 'REFERENCE_MISSING', summary: blockers[0].message, retryable: false, phase: 'checking' };
  return { state: 'failed', failure, rows: { ...rows, loaded: 0, updated: 0, unchanged: 0, blocked: 0, unprocessed: rows.source } };
}

/** A row without a key is known by its place. */
function keyOf(primaryKey, row, place) {
  const fields = [primaryKey ?? []].flat();
  return JSON.stringify(fields.length === 0 ? place : fields.map((field) => row[field]));
}

/** The rows whose references are there; of the others, what they point at is added to `missing`. */
async function withReferences(client, workspace, foreignKeys, batch, missing) {
  let kept = batch;
  for (const { fields, reference } of foreignKeys) {
    const own = [fields].flat();
    const there = [reference.fields].flat();
    if (reference.resource === '') continue; // at rows of the same dataset, which may still come
    const wanted = (row) => JSON.stringify(own.map((field) => row[field]));
    const isGiven = (row) => own.every((field) => (row[field] ?? '') !== '');
    const { rows } = await client.query(
      `SELECT DISTINCT k.v AS value FROM unnest($3::text[]) AS k(v)
       JOIN record r ON r.workspace = $1 AND r.dataset = $2 AND (SELECT jsonb_agg(r.data -> f ORDER BY n) FROM unnest($4::text[]) WITH ORDINALITY AS t(f, n)) = k.v::jsonb`,
      [workspace, reference.resource, [...new Set(kept.filter(isGiven).map(wanted))], there],
    );
    const known = new Set(rows.map(({ value }) => value));
    kept = kept.filter((row) => {
      if (!isGiven(row) || known.has(wanted(row))) return true;
      if (!missing.has(reference.resource)) missing.set(reference.resource, new Set());
      missing.get(reference.resource).add(own.map((field) => row[field]).join(', '));
      return false;
    });
  }
  return kept;
}
