// What is printed from a lifecycle's table: enum descriptions, the diagram and tables of the docs, the trigger, the table's own faults.
import { entries, type State } from './lifecycle.ts';

/** The parts of a lifecycle that are described, whatever its row: any table fits. */
interface Table {
  readonly name: string;
  readonly states: Readonly<Record<string, State>>;
  readonly transitions: Readonly<
    Record<
      string,
      {
        readonly says: string;
        readonly from: readonly string[] | null;
        readonly to: string;
        readonly who: string;
        readonly guard: string;
        readonly effects: readonly string[];
        readonly needs?: object;
      }
    >
  >;
  readonly commands: Readonly<
    Record<
      string,
      {
        readonly says: string;
        readonly permission: string;
        readonly in: Readonly<Partial<Record<string, string | null>>>;
        readonly needs?: object;
      }
    >
  >;
  readonly refused: readonly { readonly from: string; readonly to: string; readonly why: string }[];
}

/** Enum values with their descriptions, in the shape Pothos takes. */
export function enumValues<K extends string>(rows: Readonly<Record<K, { readonly says: string }>>): { [P in K]: { description: string } } {
  // fromEntries widens the keys; they are exactly those of `rows`.
  return Object.fromEntries(entries(rows).map(([name, { says }]) => [name, { description: says }])) as {
    [P in K]: { description: string };
  };
}

export interface Move {
  readonly from: string | null;
  readonly to: string;
  readonly action: string;
}

/** Every declared move, one a line. */
export function moves(table: Table): Move[] {
  return entries(table.transitions).flatMap(([action, { from, to }]): Move[] =>
    from === null ? [{ from: null, to, action }] : from.map((state) => ({ from: state, to, action })),
  );
}

export function mermaid(table: Table): string {
  const terminal = entries(table.states).filter(([, state]) => state.terminal);
  return [
    'stateDiagram-v2',
    ...moves(table).map(({ from, to, action }) => `  ${from ?? '[*]'} --> ${to}: ${action}`),
    ...terminal.map(([name]) => `  ${name} --> [*]`),
  ].join('\n');
}

const needNames = (needs: object | undefined) => Object.keys(needs ?? {}).join(', ');

export function markdown(table: Table): string {
  const states = entries(table.states).map(
    ([name, s]) => `| ${name} | ${s.says} | ${s.initial ? 'initial' : s.terminal ? 'terminal' : ''} |`,
  );
  const transitions = entries(table.transitions).map(
    ([name, t]) =>
      `| ${name} | ${t.from?.join(', ') ?? '–'} | ${t.to} | ${t.who} | ${t.guard} | ${needNames(t.needs)} | ${t.effects.join('; ')} | ${t.says} |`,
  );
  const commands = entries(table.commands).map(([name, c]) => {
    const where = entries(c.in).map(([state, action]) => (action === null ? state : `${state} (${action})`));
    return `| ${name} | ${where.join(', ')} | \`${c.permission}\` | ${needNames(c.needs)} | ${c.says} |`;
  });
  const refused = table.refused.map((r) => `| ${r.from} | ${r.to} | ${r.why} |`);
  return [
    '| state | meaning | |',
    '|---|---|---|',
    ...states,
    '',
    '| transition | from | to | who | guard | checks on the row | effects | |',
    '|---|---|---|---|---|---|---|---|',
    ...transitions,
    '',
    ...(commands.length === 0
      ? []
      : ['| a person asks for | in (makes) | permission | checks on the row | |', '|---|---|---|---|---|', ...commands, '']),
    ...(refused.length === 0 ? [] : ['| refused from | to | why |', '|---|---|---|', ...refused, '']),
  ].join('\n');
}

/** The body of the trigger function that lets through declared moves only. Its migration holds this text; a test compares them. */
export function triggerSql(table: Table, names: { readonly fn: string; readonly settled: readonly string[] }): string {
  const initial = moves(table)
    .filter((move) => move.from === null)
    .map((move) => `'${move.to}'`);
  const pairs = [...new Set(moves(table).flatMap((move) => (move.from === null ? [] : [`('${move.from}', '${move.to}')`])))];
  const terminal = entries(table.states)
    .filter(([, state]) => state.terminal)
    .map(([name]) => `'${name}'`);
  const columns = (row: 'NEW' | 'OLD') => names.settled.map((column) => `${row}.${column}`).join(', ');
  return `CREATE OR REPLACE FUNCTION ${names.fn}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    IF NEW.state::text NOT IN (${initial.join(', ')}) THEN
      RAISE EXCEPTION '${table.name} cannot begin as %', NEW.state USING ERRCODE = 'PH001';
    END IF;
    RETURN NEW;
  END IF;
  IF NEW.state IS DISTINCT FROM OLD.state AND (OLD.state::text, NEW.state::text) NOT IN (${pairs.join(', ')}) THEN
    RAISE EXCEPTION '${table.name} cannot go from % to %', OLD.state, NEW.state USING ERRCODE = 'PH001';
  END IF;
  IF OLD.state::text IN (${terminal.join(', ')}) AND (${columns('NEW')}) IS DISTINCT FROM (${columns('OLD')}) THEN
    RAISE EXCEPTION '${table.name} is % and how it settled does not change', OLD.state USING ERRCODE = 'PH001';
  END IF;
  RETURN NEW;
END $$;
`;
}

/** Faults of the table itself; empty when it is sound. */
export function faults(table: Table): string[] {
  const states = entries(table.states);
  const next = (state: string) => moves(table).flatMap((move) => (move.from === state ? [move.to] : []));
  const reach = (start: readonly string[]) => {
    const seen = new Set(start);
    for (const state of seen) for (const to of next(state)) seen.add(to); // a Set visits what is added while it is walked
    return seen;
  };
  const begins = moves(table).flatMap((move) => (move.from === null ? [move.to] : []));
  const initial = states.filter(([, state]) => state.initial).map(([name]) => name);
  const reachable = reach(begins);
  const terminal = new Set(states.filter(([, state]) => state.terminal).map(([name]) => name));
  const found =
    initial.join() === [...new Set(begins)].join() ? [] : [`begins as ${begins.join()}, but ${initial.join()} is marked initial`];
  for (const [name] of states) {
    if (!reachable.has(name)) found.push(`${name} cannot be reached`);
    if (terminal.has(name) && next(name).length > 0) found.push(`${name} is terminal but has a way out`);
    if (![...reach([name])].some((state) => terminal.has(state))) found.push(`${name} can never finish`);
  }
  for (const refusal of table.refused) {
    if (moves(table).some((move) => move.from === refusal.from && move.to === refusal.to))
      found.push(`${refusal.from} → ${refusal.to} is both declared and refused`);
  }
  for (const [command, { in: where }] of entries(table.commands)) {
    for (const [state, action] of entries(where)) {
      if (action !== null && action !== undefined && !moves(table).some((move) => move.from === state && move.action === action)) {
        found.push(`${command} in ${state} makes ${action}, which does not leave ${state}`);
      }
    }
  }
  return found;
}
