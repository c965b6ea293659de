// Keys within the file: the second and every later row with the same value is at fault.
import type pg from 'pg';
import type { TableSchema } from '../packages/plan.ts';
import { collectFaults, type Faults, type ToldRule } from './faults.ts';
import { lexical, safelyTyped } from './lexical.ts';
import { fieldsOf, type Staged, shownChars } from './stage.ts';

interface Key {
  readonly fields: readonly string[];
  readonly primary: boolean;
}

/** Writes to `fault`, by the number that the rule gets in `rules`. `unsound`: some rows are not of their types. */
async function findRepeats(client: pg.ClientBase, staged: Staged, rules: ToldRule[], key: Key, unsound: boolean): Promise<void> {
  const { fields, primary } = key;
  const parts = fieldsOf(staged).filter(({ field }) => fields.includes(field.name));
  const keys = parts.map(({ field, text }) => (unsound ? safelyTyped(field, text) : lexical(field, text).typed));
  const whole = parts.map(({ text }) => `${text} IS NOT NULL`).join(' AND ');
  const { rows } = await client.query<{ found: boolean }>(
    `SELECT EXISTS (SELECT 1 FROM stage WHERE ${whole} GROUP BY ${keys.map((part) => `(${part})`).join(', ')} HAVING count(*) > 1) AS found`,
  );
  if (!rows[0]?.found) return;
  const says = primary ? 'repeats a primary key of an earlier row' : 'repeats a value of an earlier row that must be unique';
  const value = parts.length === 1 ? (parts[0]?.text ?? 'NULL') : `jsonb_build_array(${parts.map(({ text }) => text).join(', ')})::text`;
  rules.push({ code: primary ? 'PRIMARY_KEY' : 'UNIQUE', field: fields.join(', '), says });
  const sound = keys.map((part) => `(${part}) IS NOT NULL`).join(' AND ');
  await client.query(
    `INSERT INTO fault SELECT n, ${rules.length - 1}, value FROM (
       SELECT n, left(${value}, ${shownChars}) AS value, row_number() OVER (PARTITION BY ${keys.map((part) => `(${part})`).join(', ')} ORDER BY n) AS nth
       FROM stage WHERE ${whole}${unsound ? ` AND ${sound}` : ''}) AS keyed WHERE nth > 1`,
  );
}

export function keysOf(schema: TableSchema): Key[] {
  const primary = schema.primaryKey.length > 0 ? [{ fields: schema.primaryKey, primary: true }] : [];
  return [...primary, ...uniqueFieldSets(schema).map((fields) => ({ fields, primary: false }))];
}

/** What must be unique besides the primary key. */
export function uniqueFieldSets(schema: Pick<TableSchema, 'fields' | 'primaryKey' | 'uniqueKeys'>): (readonly string[])[] {
  const stated = [
    ...schema.uniqueKeys,
    ...schema.fields.filter(({ constraints }) => constraints.unique === true).map(({ name }) => [name]),
  ];
  const seen = new Set([[...schema.primaryKey].sort().join('\0')]);
  return stated.filter((fields) => {
    const key = [...fields].sort().join('\0');
    return fields.length > 0 && !seen.has(key) && seen.add(key);
  });
}

/** Beside other faults: some rows are not even of their types. */
export async function findRepeatsAmongFaulty(client: pg.ClientBase, staged: Staged, rules: ToldRule[]): Promise<void> {
  for (const key of keysOf(staged.schema)) await findRepeats(client, staged, rules, key, true);
}

/** Of some keys, or all, in a file whose rows are sound. */
export async function checkKeys(client: pg.ClientBase, staged: Staged, keys: readonly Key[] = keysOf(staged.schema)): Promise<Faults> {
  const rules: ToldRule[] = [];
  for (const key of keys) await findRepeats(client, staged, rules, key, false);
  return collectFaults(client, rules);
}
