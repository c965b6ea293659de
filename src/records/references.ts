// Foreign keys against the live rows of other datasets as they are committed now, and of the dataset itself as it will be.
import type pg from 'pg';
import type { FieldType, ForeignKey } from '../packages/plan.ts';
import { findDataset, type Standing } from './dataset-row.ts';
import { collectFaults, type Faults, type ToldRule } from './faults.ts';
import { lexical } from './lexical.ts';
import type { Blocker } from './outcome.ts';
import { type Staged, shownChars } from './stage.ts';
import { currentColumns, type DatasetColumn, family, live, qualified } from './table.ts';

const sampleLimit = 10;

const canonical = (type: FieldType, value: string) =>
  family(type) === 'numeric' ? `trim_scale((${value})::numeric)::text` : family(type) === 'text' ? value : `(${value})::text`;

/** Values of different kinds are compared by what they look like: 5 and "5" are the same key. */
export function equal(left: { type: FieldType; value: string }, right: { type: FieldType; value: string }): string {
  return family(left.type) === family(right.type)
    ? `${left.value} = ${right.value}`
    : `${canonical(left.type, left.value)} = ${canonical(right.type, right.value)}`;
}

export const typedField = (staged: Staged, name: string): { type: FieldType; value: string } => {
  const index = staged.schema.fields.findIndex((field) => field.name === name);
  const field = staged.schema.fields[index];
  if (field === undefined) return { type: 'string', value: 'NULL::text' };
  return { type: field.type, value: lexical(field, staged.fields[index]?.text ?? 'NULL::text').typed };
};

/** Part of the stage as a table: `n`, and the typed values of some fields as `<prefix>1…`. */
export function stageOf(staged: Staged, fields: readonly string[], prefix: string): string {
  return `(SELECT n${fields.map((name, index) => `, ${typedField(staged, name).value} AS ${prefix}${index + 1}`).join('')} FROM stage)`;
}

export const notHeld = (alias: string) => `NOT EXISTS (SELECT 1 FROM held h WHERE h.n = ${alias}.n)`;

interface Check {
  readonly key: ForeignKey;
  readonly index: number;
  /** SQL over `s` (n, a1…): true where there is nothing the row points to. */
  readonly missing: string;
  readonly self: boolean;
}

/** Rows that can be referred to. */
export interface Referable {
  /** SQL: the table, or what stands for one. */
  readonly from: string;
  readonly columns: readonly DatasetColumn[];
}

/** By the name of another dataset; undefined where there is none. */
export type FindRows = (dataset: string) => Promise<Referable | undefined>;

export function storedRows(client: pg.ClientBase, workspaceId: string): FindRows {
  return async (name) => {
    const found = await findDataset(client, workspaceId, name, '');
    return found === undefined ? undefined : { from: qualified(found.table), columns: currentColumns(found.columns) };
  };
}

function liveMatch(staged: Staged, key: ForeignKey, { from, columns }: Referable): string | null {
  const parts = key.reference.fields.map((name, index) => {
    const column = columns.find((candidate) => candidate.name === name);
    if (column === undefined) return null;
    return equal(
      { type: typedField(staged, key.fields[index] ?? '').type, value: `s.a${index + 1}` },
      { type: column.type, value: `t.${column.column}` },
    );
  });
  return parts.includes(null) ? null : `SELECT 1 FROM ${from} t WHERE t.${live} AND ${parts.join(' AND ')}`;
}

const sameFields = (left: readonly string[], right: readonly string[]) => [...left].sort().join('\0') === [...right].sort().join('\0');

/** SQL over `s` and a row `k` (n, b1…) of the same file: `s` points to `k`. */
function pointsTo(staged: Staged, key: ForeignKey): string {
  const parts = key.fields.map((name, index) => {
    const target = key.reference.fields[index] ?? '';
    return equal(
      { type: typedField(staged, name).type, value: `s.a${index + 1}` },
      { type: typedField(staged, target).type, value: `k.b${index + 1}` },
    );
  });
  return parts.join(' AND ');
}

/** SQL over `s`: true where no old row that stays is the target; null where no old row can be. */
function selfMissingThere(staged: Staged, key: ForeignKey, standing: Standing): string | null {
  const { primaryKey } = staged.schema;
  // Without a key every old row goes, so only the file counts.
  if (!standing.occupied || primaryKey.length === 0) return null;
  const match = liveMatch(staged, key, standing);
  if (match === null) return null;
  // An old row that this load replaces stays a target under its primary key, and under nothing else.
  const replaced = primaryKey.map((name, index) => {
    const column = standing.columns.find((candidate) => candidate.name === name);
    return `r.p${index + 1} = t.${column?.column ?? 'row_id'}`;
  });
  const stays = sameFields(key.reference.fields, primaryKey)
    ? ''
    : ` AND NOT EXISTS (SELECT 1 FROM ${stageOf(staged, primaryKey, 'p')} r WHERE ${replaced.join(' AND ')} AND ${notHeld('r')})`;
  return `NOT EXISTS (${match}${stays})`;
}

function selfMissing(staged: Staged, key: ForeignKey, standing: Standing): string {
  const targets = stageOf(staged, key.reference.fields, 'b');
  const file = `NOT EXISTS (SELECT 1 FROM ${targets} k WHERE ${pointsTo(staged, key)} AND ${notHeld('k')})`;
  const there = selfMissingThere(staged, key, standing);
  return there === null ? file : `${file} AND ${there}`;
}

async function checksFor(find: FindRows, dataset: string, staged: Staged, standing: Standing): Promise<Check[]> {
  const checks: Check[] = [];
  for (const [index, key] of staged.schema.foreignKeys.entries()) {
    const self = key.reference.resource === dataset;
    if (self) {
      checks.push({ key, index, self, missing: selfMissing(staged, key, standing) });
      continue;
    }
    const target = await find(key.reference.resource);
    const match = target === undefined ? null : liveMatch(staged, key, target);
    checks.push({ key, index, self, missing: match === null ? 'true' : `NOT EXISTS (${match})` });
  }
  return checks;
}

const whole = (key: ForeignKey) => key.fields.map((_, index) => `s.a${index + 1} IS NOT NULL`).join(' AND ');
const shownKey = (key: ForeignKey) =>
  key.fields.length === 1 ? 's.a1::text' : `jsonb_build_array(${key.fields.map((_, index) => `s.a${index + 1}`).join(', ')})::text`;

const says = (key: ForeignKey) => `refers to ${key.reference.resource} (${key.reference.fields.join(', ')}), where there is no such row`;

async function hold(client: pg.ClientBase, staged: Staged, check: Check, only: string): Promise<number> {
  const { rowCount } = await client.query(
    `INSERT INTO held SELECT s.n, ${check.index}, left(${shownKey(check.key)}, 200) FROM ${stageOf(staged, check.key.fields, 'a')} s
     WHERE ${whole(check.key)} AND ${check.missing}${only}`,
  );
  return rowCount ?? 0;
}

/** Rows that lose their only target with the rows held so far, all the way down, for references to the dataset's own primary key. */
async function holdFollowers(client: pg.ClientBase, staged: Staged, standing: Standing, checks: readonly Check[]): Promise<number> {
  if (checks.length === 0) return 0;
  const edges = checks.map(({ key, index }) => {
    const there = selfMissingThere(staged, key, standing);
    return `SELECT s.n, k.n AS target, ${index} AS fk, left(${shownKey(key)}, 200) AS key FROM ${stageOf(staged, key.fields, 'a')} s
      JOIN ${stageOf(staged, key.reference.fields, 'b')} k ON ${pointsTo(staged, key)}${there === null ? '' : ` WHERE ${there}`}`;
  });
  // The recursion goes over pairs of row numbers: a chain of any length costs one step a link, not one scan.
  await client.query(`DROP TABLE IF EXISTS pg_temp.edge; CREATE TEMP TABLE edge ON COMMIT DROP AS ${edges.join(' UNION ALL ')}`);
  await client.query('CREATE INDEX ON edge (target); ANALYZE edge');
  const { rowCount } = await client.query(
    `WITH RECURSIVE lost AS (SELECT n FROM held UNION SELECT e.n FROM lost l JOIN edge e ON e.target = l.n)
     INSERT INTO held SELECT e.n, e.fk, e.key FROM edge e WHERE e.target IN (SELECT n FROM lost) AND NOT EXISTS (SELECT 1 FROM held h WHERE h.n = e.n AND h.fk = e.fk)`,
  );
  return rowCount ?? 0;
}

/** Rows that are not written although they are valid. */
export async function holdNone(client: pg.ClientBase): Promise<void> {
  await client.query('DROP TABLE IF EXISTS pg_temp.held; CREATE TEMP TABLE held (n bigint, fk int, key text COLLATE "C")');
}

/** Holds back rows whose references are missing: in `held`, with the rows that lose their target by that. Returns the blockers. */
export async function holdBack(
  client: pg.ClientBase,
  find: FindRows,
  dataset: string,
  staged: Staged,
  standing: Standing,
): Promise<Blocker[]> {
  const checks = await checksFor(find, dataset, staged, standing);
  let found = 0;
  for (const check of checks) found += await hold(client, staged, check, '');
  const selves = checks.filter(({ self }) => self);
  const byKey = selves.filter(({ key }) => sameFields(key.reference.fields, staged.schema.primaryKey));
  const others = selves.filter((check) => !byKey.includes(check));
  // A row that is held back is no target: go on until nothing more falls. References to other fields are looked at row by row in each round.
  for (let more = found > 0 && selves.length > 0; more; ) {
    await client.query('ANALYZE held');
    let round = await holdFollowers(client, staged, standing, byKey);
    for (const check of others) {
      round += await hold(client, staged, check, ` AND NOT EXISTS (SELECT 1 FROM held h WHERE h.n = s.n AND h.fk = ${check.index})`);
    }
    found += round;
    more = round > 0 && others.length > 0;
  }
  if (found === 0) return [];
  await client.query('CREATE INDEX ON held (n); ANALYZE held');
  const blockers: Blocker[] = [];
  for (const { key, index } of checks) {
    const { rows } = await client.query<{ count: string; samples: string[] | null }>(
      `SELECT count(*) AS count, (SELECT array_agg(key ORDER BY key) FROM (SELECT DISTINCT key FROM held WHERE fk = $1 ORDER BY key LIMIT ${sampleLimit}) AS sample) AS samples FROM held WHERE fk = $1`,
      [index],
    );
    const count = Number(rows[0]?.count ?? 0);
    if (count === 0) continue;
    blockers.push({
      code: 'MISSING_REFERENCE',
      dataset,
      message: `${count} ${count === 1 ? 'row' : 'rows'}: (${key.fields.join(', ')}) ${says(key)}.`,
      count,
      sampleKeys: rows[0]?.samples ?? [],
      clearedBy: [key.reference.resource],
    });
  }
  return blockers;
}

/** The same as faults of rows. What the file itself will bring counts as there. */
export async function missingReferences(
  client: pg.ClientBase,
  find: FindRows,
  dataset: string,
  staged: Staged,
  standing: Standing,
): Promise<Faults> {
  const checks = await checksFor(find, dataset, staged, standing);
  for (const check of checks) {
    await client.query(
      `INSERT INTO fault SELECT s.n, ${check.index}, left(${shownKey(check.key)}, ${shownChars}) FROM ${stageOf(staged, check.key.fields, 'a')} s WHERE ${whole(check.key)} AND ${check.missing}`,
    );
  }
  return collectFaults(client, missingRules(staged));
}

const missingRules = ({ schema }: Staged): ToldRule[] =>
  schema.foreignKeys.map((key) => ({ code: 'MISSING_REFERENCE', field: key.fields.join(', '), says: says(key) }));

/** What is held back, as faults of rows. Nothing is held then. */
export async function heldAsFaults(client: pg.ClientBase, staged: Staged): Promise<Faults> {
  await client.query(`INSERT INTO fault SELECT n, fk, left(key, ${shownChars}) FROM held`);
  await holdNone(client);
  return collectFaults(client, missingRules(staged));
}
