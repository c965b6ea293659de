// Every check of a row by itself, as SQL over the stage: one scan when all is well.
import type pg from 'pg';
import type { Field } from '../packages/plan.ts';
import { collectFaults, type Faults, noFaultsYet, type ToldRule } from './faults.ts';
import { lexical, ordered, safelyTyped } from './lexical.ts';
import { postgresPattern } from './pattern.ts';
import { firstErrorsLimit, LoadFailure, sqlState } from './reading.ts';
import { findRepeatsAmongFaulty } from './repeats.ts';
import { fieldsOf, type Staged, type StagedText, shownChars } from './stage.ts';
import { literal } from './table.ts';

interface Rule extends ToldRule {
  /** SQL, true for a bad row; sound on any row. */
  readonly bad: string;
  /** The same where the types of the row are known to be right: a cast without its check. */
  readonly badTyped?: string;
  /** SQL for the value that is shown. */
  readonly value: string;
}

const patternTimeoutMs = 60_000;

const nouns: Record<Field['type'], string> = {
  string: 'a string',
  any: 'a value',
  integer: 'an integer',
  number: 'a number',
  boolean: 'one of the true and false values',
  date: 'a date (YYYY-MM-DD)',
  time: 'a time (hh:mm:ss)',
  datetime: 'a date and time (YYYY-MM-DDThh:mm:ss, with or without a zone)',
  year: 'a year',
  yearmonth: 'a year and month (YYYY-MM)',
};

const bounds = [
  ['minimum', 'MINIMUM', '<', 'is less than'],
  ['maximum', 'MAXIMUM', '>', 'is more than'],
  ['exclusiveMinimum', 'EXCLUSIVE_MINIMUM', '<=', 'is not more than'],
  ['exclusiveMaximum', 'EXCLUSIVE_MAXIMUM', '>=', 'is not less than'],
] as const;

function fieldRules({ field, text, index }: StagedText, staged: Staged): Rule[] {
  const { constraints } = field;
  const { valid } = lexical(field, text);
  const rule = (code: string, says: string, bad: string): Rule => ({ code, field: field.name, says, bad, value: text });
  const rules: Rule[] = [];
  const wrongKind = staged.kinds ? `${index + 1} = ANY(wrong)` : null;
  const notTyped = valid === null ? null : `(${text} IS NOT NULL AND NOT ${valid})`;
  const typeFaults = [notTyped, wrongKind].filter((condition) => condition !== null);
  if (typeFaults.length > 0) rules.push(rule('TYPE', `is not ${nouns[field.type]}`, typeFaults.join(' OR ')));
  // A value of the wrong kind is reported once, not as a missing one too.
  const absent = wrongKind === null ? `${text} IS NULL` : `(${text} IS NULL AND (${wrongKind}) IS NOT TRUE)`;
  if (staged.schema.primaryKey.includes(field.name)) rules.push(rule('PRIMARY_KEY', 'is part of the primary key and missing', absent));
  else if (constraints.required === true) rules.push(rule('REQUIRED', 'is required and missing', absent));
  if (constraints.minLength !== undefined) {
    rules.push(rule('MIN_LENGTH', `is shorter than ${constraints.minLength}`, `char_length(${text}) < ${constraints.minLength}`));
  }
  if (constraints.maxLength !== undefined) {
    rules.push(rule('MAX_LENGTH', `is longer than ${constraints.maxLength}`, `char_length(${text}) > ${constraints.maxLength}`));
  }
  const typedRule = (code: string, says: string, bad: (value: string) => string): Rule => ({
    ...rule(code, says, bad(ordered(field, safelyTyped(field, text)))),
    badTyped: bad(ordered(field, lexical(field, text).typed)),
  });
  for (const [name, code, operator, says] of bounds) {
    const bound = constraints[name];
    if (bound === undefined) continue;
    const limit = ordered(field, lexical(field, literal(bound)).typed);
    rules.push(typedRule(code, `${says} ${bound}`, (value) => `${value} ${operator} ${limit}`));
  }
  if (constraints.enum !== undefined && constraints.enum.length > 0) {
    const members = constraints.enum.map((member) => ordered(field, lexical(field, literal(member)).typed)).join(', ');
    rules.push(typedRule('ENUM', 'is not one of the values allowed', (value) => `${value} NOT IN (${members})`));
  }
  return rules;
}

function referenceRules(staged: Staged): Rule[] {
  const texts = new Map(fieldsOf(staged).map(({ field, text }) => [field.name, text]));
  return staged.schema.foreignKeys.flatMap(({ fields }) => {
    if (fields.length < 2) return [];
    const parts = fields.map((name) => texts.get(name) ?? 'NULL::text').join(', ');
    const says = `is only partly filled: a reference needs all of ${fields.join(', ')}, or none`;
    return [
      {
        code: 'PARTIAL_REFERENCE',
        field: fields[0] ?? null,
        says,
        bad: `num_nulls(${parts}) BETWEEN 1 AND ${fields.length - 1}`,
        value: 'NULL::text',
      },
    ];
  });
}

/** A bound or an enum member that is no value of its field's type would make the checks themselves fail. */
async function refuseUnsoundConstraints(client: pg.ClientBase, staged: Staged): Promise<void> {
  const values = fieldsOf(staged).flatMap(({ field }) => {
    const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = field.constraints;
    const stated = [minimum, maximum, exclusiveMinimum, exclusiveMaximum, ...(field.constraints.enum ?? [])];
    return stated
      .filter((value) => value !== undefined)
      .map((value) => ({ name: field.name, value, valid: lexical(field, literal(value)).valid }));
  });
  const doubtful = values.filter(({ valid }) => valid !== null);
  if (doubtful.length === 0) return;
  const { rows } = await client.query<{ at: number }>(
    `SELECT at FROM (VALUES ${doubtful.map(({ valid }, at) => `(${at}, ${valid})`).join(', ')}) AS c (at, valid) WHERE NOT valid ORDER BY at LIMIT 1`,
  );
  const bad = doubtful[rows[0]?.at ?? -1];
  if (bad === undefined) return;
  throw new LoadFailure(
    'INVALID_CONSTRAINT',
    'checking',
    `A constraint of "${bad.name}" is not a value of its type: ${bad.value}`,
    staged.rows,
    'package',
  );
}

const unsupported = (field: Field, rows: number, why: string) =>
  new LoadFailure(
    'PATTERN_NOT_SUPPORTED',
    'checking',
    `The pattern of "${field.name}" ${why}: ${field.constraints.pattern ?? ''}`,
    rows,
    'package',
  );

async function patternRules(client: pg.ClientBase, staged: Staged): Promise<Rule[]> {
  const rules: Rule[] = [];
  for (const { field, text } of fieldsOf(staged)) {
    const { pattern } = field.constraints;
    if (pattern === undefined) continue;
    const translated = postgresPattern(pattern);
    if (translated === null) throw unsupported(field, staged.rows, 'uses what cannot be checked here');
    const bad = `${text} !~ ${literal(translated)}`;
    // Run once under a time limit of its own: a pattern is somebody else's program.
    await client.query(`SET statement_timeout = ${patternTimeoutMs}`);
    try {
      // Also where no row would make Postgres read it.
      await client.query(`SELECT '' ~ ${literal(translated)}`);
      const { rows } = await client.query<{ found: boolean }>(`SELECT EXISTS (SELECT 1 FROM stage WHERE ${bad}) AS found`);
      if (rows[0]?.found)
        rules.push({ code: 'PATTERN', field: field.name, says: `does not match the pattern ${pattern}`, bad, value: text });
    } catch (error) {
      const state = sqlState(error);
      if (state === '57014') throw unsupported(field, staged.rows, `took longer than ${patternTimeoutMs / 1_000} s`);
      throw state === '2201B' ? unsupported(field, staged.rows, 'cannot be read') : error;
    } finally {
      await client.query('RESET statement_timeout');
    }
  }
  return rules;
}

/** The rows that are at fault by themselves. With `each` every one of them is told, so that it can be left out; else the first, and keys that are there twice too. */
export async function checkRows(client: pg.ClientBase, staged: Staged, each: boolean): Promise<Faults> {
  await noFaultsYet(client);
  await refuseUnsoundConstraints(client, staged);
  const rules: Rule[] = [
    ...fieldsOf(staged).flatMap((checked) => fieldRules(checked, staged)),
    ...referenceRules(staged),
    ...(await patternRules(client, staged)),
  ];
  const any = (conditions: readonly string[]) =>
    conditions.length === 0 ? 'false' : conditions.map((condition) => `(${condition})`).join(' OR ');
  const types = any(rules.filter(({ badTyped }) => badTyped === undefined).map(({ bad }) => bad));
  const rest = any(rules.flatMap(({ badTyped }) => badTyped ?? []));
  // CASE keeps the order: no cast before its check, and no check twice.
  const suspect = `CASE WHEN ${types} THEN true ELSE ${rest} END`;
  const { rows } = await client.query<{ found: boolean }>(`SELECT EXISTS (SELECT 1 FROM stage WHERE ${suspect}) AS found`);
  const told: ToldRule[] = [...rules];
  if (rows[0]?.found === true) {
    await (each ? listAll(client, rules, suspect) : listFirst(client, rules, suspect));
    // When all else is well the unique indexes of the table will tell, mostly; `checkKeys` is for when they cannot.
    if (!each) await findRepeatsAmongFaulty(client, staged, told);
  }
  return collectFaults(client, told);
}

const testOf = (rules: readonly Rule[]) =>
  `CROSS JOIN LATERAL (VALUES ${rules.map(({ bad, value }, at) => `(${at}, ${bad}, ${value})`).join(', ')}) AS t (rule, bad, value)`;
const shown = `n, rule, left(value, ${shownChars})`;

async function listAll(client: pg.ClientBase, rules: readonly Rule[], suspect: string): Promise<void> {
  await client.query(
    `INSERT INTO fault SELECT ${shown} FROM (SELECT * FROM stage WHERE ${suspect} OFFSET 0) AS stage ${testOf(rules)} WHERE bad`,
  );
}

/** Each fault of the first bad rows, which hold the first faults; of the others only how many: rule by rule a row costs 20 µs, and not 2. */
async function listFirst(client: pg.ClientBase, rules: readonly Rule[], suspect: string): Promise<void> {
  const { rows } = await client.query<{ last: string }>(
    `SELECT max(n) AS last FROM (SELECT n FROM stage WHERE ${suspect} ORDER BY n LIMIT ${firstErrorsLimit}) AS first`,
  );
  const last = rows[0]?.last ?? '0';
  const count = rules.map(({ bad }) => `((${bad}) IS TRUE)::int`).join(' + ');
  await client.query(`INSERT INTO fault SELECT ${shown} FROM stage ${testOf(rules)} WHERE n <= ${last} AND bad`);
  await client.query(`INSERT INTO fault SELECT n, NULL, NULL, ${count} FROM stage WHERE n > ${last} AND ${suspect}`);
}
