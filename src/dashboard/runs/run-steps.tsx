// The datasets of a run as a table: how far each is, and what became of its rows.
import { Anchor, Table, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { memo, useEffect, useRef } from 'react';
import { Blockers, Holds } from '../blockers.tsx';
import { Bar, type Progress } from '../progress.tsx';
import { count, State } from '../said.tsx';
import { Wide } from '../wide.tsx';
import { RowErrors } from './row-errors.tsx';
import type { Run } from './run.ts';
import { SettleSubmission } from './settle-submission.tsx';

type Step = Run['steps'][number];

const accounts = ['source', 'loaded', 'updated', 'unchanged', 'rejected', 'blocked', 'unprocessed'] as const;

interface RunStepsProps {
  readonly run: Run;
  readonly progressOf: (step: Step) => Progress;
  /** The dataset that the address names. */
  readonly chosen: string | undefined;
}

export function RunSteps({ run, progressOf, chosen }: RunStepsProps) {
  const head = ['Dataset', 'State', 'Progress', ...accounts.map((account) => `${account[0]?.toUpperCase()}${account.slice(1)}#`)];
  return (
    <>
      <Wide label="Datasets of the run" head={head}>
        {run.steps.map((step) => (
          <StepLines
            key={step.id}
            slug={run.workspace.slug}
            runId={run.id}
            step={step}
            hasEnded={run.settledAt !== null}
            progress={progressOf(step)}
            isChosen={step.dataset === chosen}
          />
        ))}
      </Wide>
      {run.steps
        .filter(({ rowErrorCount }) => rowErrorCount !== '0')
        .map((step) => (
          <RowErrors key={`${step.id} ${step.rowErrorCount}`} step={step} />
        ))}
    </>
  );
}

interface StepLinesProps {
  readonly slug: string;
  readonly runId: string;
  readonly step: Step;
  /** The run. */
  readonly hasEnded: boolean;
  readonly progress: Progress;
  readonly isChosen: boolean;
}

/** Of two hundred of them a second reading changes a few: measured with all drawn anew, a reading took the page most of a second. */
const StepLines = memo(function StepLines({ slug, runId, step, hasEnded, progress, isChosen }: StepLinesProps) {
  const line = useRef<HTMLTableRowElement>(null);
  useEffect(() => {
    if (isChosen) line.current?.scrollIntoView({ block: 'center' });
  }, [isChosen]);
  const params = { slug, runId };
  const says = step.failure !== null || step.blockers.length > 0 || step.whyNotRunning.length > 0 || step.skippedBecause !== null;
  return (
    <>
      <Table.Tr ref={line} data-step={step.dataset} {...(isChosen ? { bg: 'var(--mantine-color-default-hover)' } : {})}>
        <Table.Th scope="row">
          <Anchor
            inherit
            renderRoot={(props) => (
              <Link {...props} to="/workspaces/$slug/runs/$runId" params={params} search={{ step: step.dataset }} resetScroll={false} />
            )}
          >
            {step.dataset}
          </Anchor>
          {isWritten(step) && (
            <>
              {' '}
              <Anchor
                size="sm"
                fw={400}
                aria-label={`Rows of ${step.dataset}`}
                renderRoot={(props) => (
                  <Link {...props} to="/workspaces/$slug/datasets/$dataset" params={{ slug, dataset: step.dataset }} />
                )}
              >
                rows
              </Anchor>
            </>
          )}
        </Table.Th>
        <Table.Td>
          <State state={step.state} />
        </Table.Td>
        <Table.Td>
          <Bar progress={progress} state={step.state} label={`${step.dataset} read`} />
        </Table.Td>
        {accounts.map((account) => (
          <Table.Td key={account} className="num">
            {count(step.rows[account])}
          </Table.Td>
        ))}
      </Table.Tr>
      {says && (
        <Table.Tr>
          <Table.Td colSpan={3 + accounts.length} className="text">
            {step.failure !== null && (
              <Text size="sm">
                {step.failure.summary} ({step.failure.code})
              </Text>
            )}
            {step.skippedBecause !== null && <Text size="sm">Skipped: {step.skippedBecause}</Text>}
            <Blockers blockers={step.blockers} />
            {step.whyNotRunning.length > 0 && <Holds title={`Why ${step.dataset} waits`} holds={step.whyNotRunning} />}
            {step.whyNotRunning.some(({ code }) => code === 'SUBMISSION_UNKNOWN') && <SettleSubmission step={step} hasEnded={hasEnded} />}
          </Table.Td>
        </Table.Tr>
      )}
    </>
  );
});

/** Whether its rows can be looked at here: a target of one’s own keeps them where it likes. A blocked step has written those that were not held back. */
function isWritten({ target, state }: Step): boolean {
  return target === 'store' && (state === 'SUCCEEDED' || state === 'BLOCKED');
}
