// A lifecycle as data: states, the moves between them, and what a person may ask for. Pure; knows no database.

/** What must hold besides the state: null, or a sentence for a person. Sees only the row, so the same check refuses and explains. */
export type Need<Row> = (row: Row) => string | null;

export interface State {
  readonly says: string;
  readonly initial?: true;
  readonly terminal?: true;
}

/** A declared change of state. The key it stands under is the event's action. */
export interface Transition<S extends string, Row> {
  readonly says: string;
  /** null: the row is made by it. */
  readonly from: readonly S[] | null;
  readonly to: S;
  readonly who: string;
  readonly guard: string;
  readonly effects: readonly string[];
  readonly needs?: Readonly<Record<string, Need<Row>>>;
}

/** What a person can ask for. In each state it is allowed in, it makes one transition, or none of its own (null). */
export interface Command<S extends string, T extends string, Row> {
  readonly says: string;
  readonly permission: string;
  readonly in: Readonly<Partial<Record<S, T | null>>>;
  readonly needs?: Readonly<Record<string, Need<Row>>>;
}

export interface Refusal<S extends string> {
  readonly from: S;
  readonly to: S;
  readonly why: string;
}

export interface Lifecycle<S extends string, T extends string, C extends string, Row extends { readonly state: S }> {
  readonly name: string;
  readonly states: Readonly<Record<S, State>>;
  readonly transitions: Readonly<Record<T, Transition<S, Row>>>;
  readonly commands: Readonly<Record<C, Command<S, NoInfer<T>, Row>>>;
  /** Moves somebody might expect, and why there are none. */
  readonly refused: readonly Refusal<S>[];
}

/** Curried: the row's type is given, states and actions are inferred from the table. */
export function lifecycle<Row extends { readonly state: string }>() {
  return <const T extends string, const C extends string>(table: Lifecycle<Row['state'], T, C, Row>): Lifecycle<Row['state'], T, C, Row> =>
    table;
}

/** One reason why not: a name for programs, a sentence for people. */
export interface Unmet {
  readonly need: string;
  readonly says: string;
}

/** Object.entries loses the key type; the tables are literals, so their keys are exactly the declared ones. */
export function entries<K extends string, V>(record: Readonly<Partial<Record<K, V>>>): [K, V][] {
  return Object.entries(record) as [K, V][];
}

function failing<Row>(needs: Readonly<Record<string, Need<Row>>> | undefined, row: Row): Unmet[] {
  return entries(needs ?? {}).flatMap(([need, check]) => {
    const says = check(row);
    return says === null ? [] : [{ need, says }];
  });
}

/** Everything that stands in the way of a transition; empty when nothing does. */
export function unmet<S extends string, T extends string, C extends string, Row extends { readonly state: S }>(
  table: Lifecycle<S, T, C, Row>,
  action: NoInfer<T>,
  row: NoInfer<Row>,
): Unmet[] {
  const transition = table.transitions[action];
  if (transition.from === null || !transition.from.includes(row.state)) {
    const wanted = transition.from === null ? 'a new one' : transition.from.join(' or ');
    return [{ need: 'state', says: `It is ${row.state}; ${action} needs ${wanted}.` }];
  }
  return failing(transition.needs, row);
}

/** Everything that stands in the way of what a person asks for; empty when nothing does. Permission is not looked at. */
export function unmetCommand<S extends string, T extends string, C extends string, Row extends { readonly state: S }>(
  table: Lifecycle<S, T, C, Row>,
  command: NoInfer<C>,
  row: NoInfer<Row>,
): Unmet[] {
  const { in: where, needs } = table.commands[command];
  const action = where[row.state];
  if (action === undefined) {
    const wanted = Object.keys(where).join(' or ');
    return [{ need: 'state', says: `It is ${row.state}; ${command} needs ${wanted}.` }];
  }
  return [...failing(needs, row), ...(action === null ? [] : failing(table.transitions[action].needs, row))];
}

/** What may be asked for now, permission aside. */
export function allowedCommands<S extends string, T extends string, C extends string, Row extends { readonly state: S }>(
  table: Lifecycle<S, T, C, Row>,
  row: NoInfer<Row>,
): C[] {
  return entries(table.commands)
    .map(([command]) => command)
    .filter((command) => unmetCommand(table, command, row).length === 0);
}

export function terminalStates<S extends string>(table: { readonly states: Readonly<Record<S, State>> }): S[] {
  return entries(table.states)
    .filter(([, state]) => state.terminal)
    .map(([name]) => name);
}
