// Notices what a database lacks of what the migrations made: prisma/catalog.txt lists it, one object a line, `kind name: definition`.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type pg from 'pg';

export const catalogFile = path.resolve(import.meta.dirname, '../../prisma/catalog.txt'); // the same from src/ and from dist/

// Everything in the two schemas but the tables of loaded datasets and the list of migrations.
const ours = `n.nspname IN ('public', 'records') AND c.relname <> '_prisma_migrations' AND NOT (n.nspname = 'records' AND c.relname LIKE 'd\\_%')`;

const firing = (column: string) =>
  `CASE ${column} WHEN 'O' THEN 'enabled' WHEN 'D' THEN 'disabled' WHEN 'R' THEN 'enabled on replicas' ELSE 'always enabled' END`;

const parts = [
  `SELECT format('schema %s: present', nspname) FROM pg_namespace WHERE nspname IN ('public', 'records')`,

  `SELECT format('enum %s.%s: %s', n.nspname, t.typname, string_agg(e.enumlabel, ', ' ORDER BY e.enumsortorder))
   FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace JOIN pg_enum e ON e.enumtypid = t.oid
   WHERE n.nspname IN ('public', 'records') GROUP BY n.nspname, t.typname`,

  `SELECT format('%s %s.%s: %s', CASE c.relkind WHEN 'S' THEN 'sequence' WHEN 'v' THEN 'view' WHEN 'm' THEN 'view' ELSE 'table' END, n.nspname, c.relname,
          CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid) WHEN c.relpersistence = 'u' THEN 'unlogged' ELSE 'logged' END)
   FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'p', 'S', 'v', 'm') AND ${ours}`,

  `SELECT format('column %s.%s.%s: %s%s%s%s%s', n.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
          CASE WHEN a.attcollation NOT IN (0, t.typcollation) THEN ' collate ' || a.attcollation::regcollation END,
          CASE WHEN a.attnotnull THEN ' not null' END,
          CASE a.attidentity WHEN 'a' THEN ' always identity' WHEN 'd' THEN ' identity' END,
          CASE WHEN d.oid IS NOT NULL THEN CASE a.attgenerated WHEN '' THEN ' default ' ELSE ' generated ' END || pg_get_expr(d.adbin, d.adrelid) END)
   FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_type t ON t.oid = a.atttypid
   LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
   WHERE c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped AND ${ours}`,

  `SELECT format('index %s.%s: %s%s', n.nspname, x.relname, pg_get_indexdef(i.indexrelid), CASE WHEN NOT i.indisvalid THEN ' (invalid)' END)
   FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE ${ours}`,

  // Postgres 18 lists NOT NULL here too (contype n); a column's line has it already. A foreign key is kept by triggers, which can be off.
  `SELECT format('constraint %s.%s.%s: %s%s', n.nspname, c.relname, k.conname, pg_get_constraintdef(k.oid),
          (SELECT ' (' || string_agg(DISTINCT ${firing('g.tgenabled')}, ', ') || ')' FROM pg_trigger g WHERE g.tgconstraint = k.oid AND g.tgisinternal))
   FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
   WHERE k.contype IN ('c', 'f', 'p', 'u', 'x') AND ${ours}`,

  `SELECT format('trigger %s.%s.%s: %s (%s)', n.nspname, c.relname, g.tgname, pg_get_triggerdef(g.oid), ${firing('g.tgenabled')})
   FROM pg_trigger g JOIN pg_class c ON c.oid = g.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace WHERE NOT g.tgisinternal AND ${ours}`,

  // Not pg_get_functiondef: how it prints may change between versions of Postgres.
  `SELECT format('function %s.%s(%s): %s', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid), encode(sha256(convert_to(concat_ws(E'\\n',
          l.lanname, pg_get_function_result(p.oid), p.provolatile, p.proisstrict, p.prosecdef, p.proparallel, p.proconfig, p.prosrc,
          pg_get_function_sqlbody(p.oid)), 'UTF8')), 'hex'))
   FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_language l ON l.oid = p.prolang
   WHERE n.nspname IN ('public', 'records') AND NOT EXISTS (SELECT FROM pg_depend e WHERE e.classid = 'pg_proc'::regclass AND e.objid = p.oid AND e.deptype = 'e')`,
];

/** What is there, a sorted line an object, the same from Postgres 15 to 18. For a connection that is not in a transaction. */
export async function readCatalog(client: pg.ClientBase): Promise<string[]> {
  await client.query('BEGIN READ ONLY');
  try {
    await client.query('SET LOCAL search_path = pg_catalog'); // names print qualified or not depending on it
    const { rows } = await client.query<{ line: string }>(`SELECT line FROM (${parts.join('\nUNION ALL\n')}) AS catalog (line)`);
    return rows.map(({ line }) => line.replace(/\s+/g, ' ')).sort();
  } finally {
    await client.query('ROLLBACK');
  }
}

/** A sentence for each thing that the migrations made and this database lacks or has otherwise. What else it has is its own affair. */
export async function missingFromCatalog(client: pg.ClientBase, file = catalogFile): Promise<string[]> {
  const live = new Map((await readCatalog(client)).map(nameAndDefinition));
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map(nameAndDefinition)
    .filter(([name, expected]) => live.get(name) !== expected)
    .map(([name, expected]) => {
      const found = live.get(name);
      if (found === undefined) return `the ${name} is missing (expected: ${expected})`;
      if (name.startsWith('function ')) return `the ${name} is not the one that the migrations made`;
      return `the ${name} was changed: expected ${expected}, found ${found}`;
    });
}

function nameAndDefinition(line: string): [name: string, definition: string] {
  const at = line.indexOf(': ');
  return [line.slice(0, at), line.slice(at + 2)];
}
