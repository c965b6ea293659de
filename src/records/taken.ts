// Values that must be unique and that a live row, which stays, has already.
import type pg from 'pg';
import type { Standing } from './dataset-row.ts';
import { collectFaults, type Faults } from './faults.ts';
import { notHeld, stageOf } from './references.ts';
import { type Staged, shownChars } from './stage.ts';
import { live } from './table.ts';

/**
 * With `follow` also the rows that want a value of a row which stays because the one that would replace it is at fault, all the way down: so
 * that what is left of the file can be written without them.
 */
export async function takenValues(
  client: pg.ClientBase,
  staged: Staged,
  standing: Standing,
  uniques: readonly (readonly string[])[],
  follow: boolean,
): Promise<Faults> {
  const { primaryKey } = staged.schema;
  const column = (name: string) => `t.${standing.columns.find((candidate) => candidate.name === name)?.column ?? 'row_id'}`;
  const replacing = primaryKey.map((name, at) => `${column(name)} = r.p${at + 1}`).join(' AND ');
  const wants = uniques.map((fields, index) => {
    const same = fields.map((name, at) => `${column(name)} = s.a${at + 1}`).join(' AND ');
    return `SELECT s.n, ${index} AS rule, left(s.a1::text, ${shownChars}) AS value, r.n AS giver
      FROM ${stageOf(staged, fields, 'a')} s JOIN ${standing.from} t ON ${same}
      LEFT JOIN ${stageOf(staged, primaryKey, 'p')} r ON ${replacing} AND ${notHeld('r')}
      WHERE t.${live} AND ${notHeld('s')} AND ${follow ? 'r.n IS DISTINCT FROM s.n' : 'r.n IS NULL'}`;
  });
  const wanted = wants.join(' UNION ALL ');
  if (follow) {
    // Over pairs of row numbers, so that a chain of any length costs one step a link.
    await client.query(`DROP TABLE IF EXISTS pg_temp.want; CREATE TEMP TABLE want ON COMMIT DROP AS ${wanted}`);
    await client.query('CREATE INDEX ON want (giver); ANALYZE want');
    await client.query(
      `WITH RECURSIVE lost AS (SELECT n FROM want WHERE giver IS NULL UNION SELECT w.n FROM lost l JOIN want w ON w.giver = l.n)
       INSERT INTO fault SELECT n, rule, value FROM want WHERE giver IS NULL OR giver IN (SELECT n FROM lost)`,
    );
  } else {
    await client.query(`INSERT INTO fault SELECT n, rule, value FROM (${wanted}) AS want`);
  }
  const rules = uniques.map((fields) => ({
    code: 'UNIQUE',
    field: fields.join(', '),
    says: `must be unique and is taken by a row that is already there`,
  }));
  return collectFaults(client, rules);
}
