// The lifecycles as data in the API, for dashboards and documents.
import { exportLifecycle } from '../exports/lifecycle.ts';
import { builder } from '../graphql/builder.ts';
import { moves } from '../lifecycle/describe.ts';
import { entries } from '../lifecycle/lifecycle.ts';
import { runLifecycle } from '../runs/lifecycle.ts';

interface StateRow {
  readonly name: string;
  readonly meaning: string;
  readonly terminal: boolean;
}

const stateType = builder.objectRef<StateRow>('LifecycleState').implement({
  description: 'A state of a lifecycle.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'As the state enum spells it.' }),
    meaning: t.exposeString('meaning', { description: 'What it means.' }),
    terminal: t.exposeBoolean('terminal', { description: 'Whether it is never left.' }),
  }),
});

interface TransitionRow {
  readonly from: string | null;
  readonly to: string;
  readonly action: string;
  readonly guard: string;
  readonly sideEffects: string[];
  readonly who: string;
}

const transitionType = builder.objectRef<TransitionRow>('LifecycleTransition').implement({
  description: 'A declared move. There are no others: the database refuses them.',
  fields: (t) => ({
    from: t.exposeString('from', { nullable: true, description: 'The state it leaves; null where the subject is made.' }),
    to: t.exposeString('to', { description: 'The state it leads to.' }),
    action: t.exposeString('action', { description: 'What events call it.' }),
    guard: t.exposeString('guard', { description: 'What must hold.' }),
    sideEffects: t.exposeStringList('sideEffects', { description: 'What happens with it.' }),
    who: t.exposeString('who', { description: 'Who makes it.' }),
  }),
});

interface RefusalRow {
  readonly from: string;
  readonly to: string;
  readonly why: string;
}

const refusalType = builder.objectRef<RefusalRow>('LifecycleRefusal').implement({
  description: 'A move that one might expect and that there is not.',
  fields: (t) => ({
    from: t.exposeString('from', { description: 'From this state.' }),
    to: t.exposeString('to', { description: 'To this one.' }),
    why: t.exposeString('why', { description: 'Why not.' }),
  }),
});

interface LifecycleRow {
  readonly name: string;
  readonly states: StateRow[];
  readonly transitions: TransitionRow[];
  readonly refused: RefusalRow[];
}

function describe(table: typeof runLifecycle | typeof exportLifecycle): LifecycleRow {
  const transitions = entries<string, (typeof table.transitions)[keyof typeof table.transitions]>(table.transitions);
  const byAction = new Map(transitions);
  return {
    name: table.name,
    states: entries<string, { says: string; terminal?: true }>(table.states).map(([name, { says, terminal }]) => ({
      name,
      meaning: says,
      terminal: terminal ?? false,
    })),
    transitions: moves(table).map(({ from, to, action }) => {
      const row = byAction.get(action);
      return { from, to, action, guard: row?.guard ?? '', sideEffects: [...(row?.effects ?? [])], who: row?.who ?? '' };
    }),
    refused: table.refused.map((refusal) => ({ ...refusal })),
  };
}

const lifecycleType = builder.objectRef<LifecycleRow>('Lifecycle').implement({
  description: 'A lifecycle: its states, its moves, and the moves it refuses.',
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The type whose lifecycle it is.' }),
    states: t.expose('states', { type: [stateType], description: 'All states.' }),
    transitions: t.expose('transitions', { type: [transitionType], description: 'All moves.' }),
    refused: t.expose('refused', { type: [refusalType], description: 'Moves that one might expect, and why there are none.' }),
  }),
});

builder.queryField('lifecycles', (t) =>
  t.field({
    type: [lifecycleType],
    description: 'Both machines as data.',
    resolve: () => [describe(runLifecycle), describe(exportLifecycle)],
  }),
);
