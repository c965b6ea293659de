// What a run would do, shown before it is started.
import { Button, Group, Table, Text } from '@mantine/core';
import { useState } from 'react';
import { useMutation } from 'urql';
import { planDataRunDocument } from '../../client/documents.ts';
import type { PlanDataRunMutation } from '../../client/gql/graphql.ts';
import { typed } from '../api.ts';
import { Blockers } from '../blockers.tsx';
import { refusalOf } from '../confirm.tsx';
import { count, State, Wrong } from '../said.tsx';
import { Section } from '../section.tsx';
import { Wide } from '../wide.tsx';
import { FaultyRows } from './faulty-rows.tsx';

export type Plan = Extract<PlanDataRunMutation['planDataRun'], { __typename: 'DataRunPlan' }>;

interface RunPlanProps {
  readonly runId: string;
  readonly plan: Plan | null;
  readonly keep: (plan: Plan) => void;
}

export function RunPlan({ runId, plan, keep }: RunPlanProps) {
  const [{ fetching }, make] = useMutation(typed(planDataRunDocument));
  const [refusal, setRefusal] = useState<string | null>(null);
  const ask = async () => {
    const { data, error } = await make({ input: { dataRunId: runId } });
    setRefusal(refusalOf('DataRunPlan', Object.values(data ?? {}), error));
    if (data?.planDataRun.__typename === 'DataRunPlan') keep(data.planDataRun);
  };
  return (
    <Section title="What it would do">
      {plan === null ? (
        <Text size="sm">Every file is read and every row judged, against what is in the workspace now. Nothing is written.</Text>
      ) : (
        <Planned plan={plan} />
      )}
      <Group>
        <Button variant="default" loading={fetching} onClick={ask}>
          {plan === null ? 'Plan it' : 'Plan it again'}
        </Button>
        {refusal !== null && <Wrong>{refusal}</Wrong>}
      </Group>
    </Section>
  );
}

const accounts = ['loaded', 'updated', 'unchanged', 'blocked'] as const;

function Planned({ plan: { datasets, order, blockers } }: { readonly plan: Plan }) {
  const turnOf = (dataset: string) => String(order.findIndex((names) => names.includes(dataset)) + 1);
  const ordered = order.flatMap((names) => datasets.filter(({ dataset }) => names.includes(dataset)));
  return (
    <>
      <Wide
        label="The plan"
        head={['Turn#', 'Dataset', 'Would be', 'Rows#', 'Invalid#', 'New#', 'Changed#', 'Unchanged#', 'Held back#', 'Removed#']}
      >
        {ordered.map(({ dataset, state, target, authorised, rows, invalidRows, account, removed }) => (
          <Table.Tr key={dataset}>
            <Table.Td className="num">{turnOf(dataset)}</Table.Td>
            <Table.Th scope="row">{dataset}</Table.Th>
            <Table.Td>
              {state === null ? `by ${target}` : <State state={state} />}
              {!authorised && ` (not yours to start: it needs target:${target})`}
            </Table.Td>
            <Table.Td className="num">{count(rows)}</Table.Td>
            <Table.Td className="num">{count(invalidRows)}</Table.Td>
            {accounts.map((name) => (
              <Table.Td key={name} className="num">
                {account === null ? '' : count(account[name])}
              </Table.Td>
            ))}
            <Table.Td className="num">{count(removed)}</Table.Td>
          </Table.Tr>
        ))}
      </Wide>
      <Text size="sm">
        {blockers.length === 0
          ? 'The package’s data would be in the workspace, whole.'
          : 'The package’s data would not all be in the workspace.'}
      </Text>
      <Blockers blockers={blockers} />
      {datasets.map(({ dataset, rowErrors, rowErrorCount }) => (
        <FaultyRows key={dataset} dataset={dataset} errors={rowErrors} count={rowErrorCount} />
      ))}
      <Text size="sm" c="dimmed">
        Started from this page, it starts only if nothing of what the plan was made of has changed since.
      </Text>
    </>
  );
}
