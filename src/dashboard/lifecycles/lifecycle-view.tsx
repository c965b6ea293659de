// One lifecycle: drawn, and its states, moves and refusals as tables.
import { Code, Stack, Table, Text, Title } from '@mantine/core';
import { State } from '../said.tsx';
import { Wide } from '../wide.tsx';
import type { Lifecycle } from './lifecycle.ts';
import { LifecycleGraph } from './lifecycle-graph.tsx';

interface LifecycleViewProps {
  readonly lifecycle: Lifecycle;
  /** The state that something is in; null: of nothing in particular. */
  readonly current: string | null;
}

export function LifecycleView({ lifecycle, current }: LifecycleViewProps) {
  const { name, states, transitions, refused } = lifecycle;
  const marked = (isCurrent: boolean) => (isCurrent ? { bg: 'var(--mantine-color-default-hover)' } : {});
  return (
    <Stack>
      <LifecycleGraph lifecycle={lifecycle} current={current} />
      <Title order={3} size="h4">
        States
      </Title>
      <Wide label={`States of ${name}`} head={['State', 'What it means', 'Ends']}>
        {states.map((state) => (
          <Table.Tr key={state.name} {...marked(state.name === current)} {...(state.name === current ? { 'aria-current': 'true' } : {})}>
            <Table.Th scope="row">
              <State state={state.name} />
              {state.name === current && ' now'}
            </Table.Th>
            <Table.Td className="text">{state.meaning}</Table.Td>
            <Table.Td>{state.terminal ? 'for good' : ''}</Table.Td>
          </Table.Tr>
        ))}
      </Wide>
      <Title order={3} size="h4">
        Moves
      </Title>
      <Text size="sm" c="dimmed">
        There are no others: the database refuses them.
      </Text>
      <Wide label={`Moves of ${name}`} head={['From', 'Move', 'To', 'Who', 'What must hold', 'What happens with it']}>
        {transitions.map(({ from, to, action, guard, sideEffects, who }) => (
          <Table.Tr key={`${from} ${action}`} {...marked(current !== null && from === current)}>
            <Table.Td>{from ?? 'made'}</Table.Td>
            <Table.Td>
              <Code>{action}</Code>
            </Table.Td>
            <Table.Td>{to}</Table.Td>
            <Table.Td>{who}</Table.Td>
            <Table.Td className="text">{guard}</Table.Td>
            <Table.Td className="text">{sideEffects.join('; ')}</Table.Td>
          </Table.Tr>
        ))}
      </Wide>
      {refused.length > 0 && (
        <>
          <Title order={3} size="h4">
            Moves that there are not
          </Title>
          <Wide label={`Moves that ${name} refuses`} head={['From', 'To', 'Why not']}>
            {refused.map(({ from, to, why }) => (
              <Table.Tr key={`${from} ${to}`}>
                <Table.Td>{from}</Table.Td>
                <Table.Td>{to}</Table.Td>
                <Table.Td className="text">{why}</Table.Td>
              </Table.Tr>
            ))}
          </Wide>
        </>
      )}
    </Stack>
  );
}
