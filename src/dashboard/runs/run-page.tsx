// One run: what becomes of each dataset, why it does or does not move, what happened, and what may be done.
import { Alert, Anchor, Box, Group, Loader, Stack, Text, Title } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { useSubscription } from 'urql';
import { dataRunProgressDocument } from '../../client/documents.ts';
import { runPageDocument } from '../../client/page-documents.ts';
import { typed } from '../api.ts';
import { Holds, ReadinessCard } from '../blockers.tsx';
import { placed, runOf, unannouncedMs, useAskedAgain, useLive } from '../live.ts';
import { toldOf } from '../policies.ts';
import { Bar, type Progress } from '../progress.tsx';
import { Fault, Loading, Missing, State, When } from '../said.tsx';
import { Section } from '../section.tsx';
import { GrantCard } from './grant-card.tsx';
import { LoadAgain } from './load-again.tsx';
import { RejectedRows } from './rejected-rows.tsx';
import { atWork, type Run } from './run.ts';
import { RunActions } from './run-actions.tsx';
import { RunEvents } from './run-events.tsx';
import { RunLog } from './run-log.tsx';
import { type Plan, RunPlan } from './run-plan.tsx';
import { RunSteps } from './run-steps.tsx';
import { RunTimeline, type SeenProgress } from './run-timeline.tsx';

const RunGraph = lazy(() => import('./run-graph.tsx'));
const route = getRouteApi('/workspaces/$slug/runs/$runId');

export default function RunPage() {
  const { slug, runId } = route.useParams();
  const [{ data, error }, again] = useLive(typed(runPageDocument), { id: runId }, (event) => runOf(event) === runId);
  const run = placed(data?.dataRun, slug);
  useAskedAgain(run && moving.has(run.state) ? unannouncedMs : null, again);
  if (run) return <Shown key={run.id} run={run} />;
  if (error !== undefined) return <Fault error={error} again={() => again({ requestPolicy: 'network-only' })} />;
  return data === undefined ? <Loading what="the run" /> : <Missing what="run" />;
}

function Shown({ run }: { readonly run: Run }) {
  const { step } = route.useSearch();
  const progress = useProgress(run);
  const [plan, setPlan] = useState<Plan | null>(null);
  const isPlanned = run.state === 'REGISTERED' && run.allowedActions.length > 0; // who may do anything to it may plan it
  const { slug } = run.workspace;
  return (
    <Stack>
      <title>{`${run.state} ${run.package.name} · Packhorse`}</title>
      <Group justify="space-between" align="flex-start">
        <Stack gap={4}>
          <Group gap="sm">
            <Title order={1} size="h2">
              {run.package.title ?? run.package.name} {run.package.version}
            </Title>
            <State state={run.state} />
            <Anchor
              size="sm"
              renderRoot={(props) => <Link {...props} to="/workspaces/$slug/runs/$runId/lifecycle" params={{ slug, runId: run.id }} />}
            >
              Lifecycle
            </Anchor>
          </Group>
          <Text size="sm" c="dimmed">
            Registered <When at={run.registeredAt} /> by {run.registeredBy}
            {run.startedAt !== null && (
              <>
                , started <When at={run.startedAt} />
              </>
            )}
            {run.settledAt !== null && (
              <>
                , ended <When at={run.settledAt} />
              </>
            )}
            {run.previousRun !== null && (
              <>
                , after{' '}
                <Anchor
                  inherit
                  underline="always"
                  renderRoot={(props) => (
                    <Link {...props} to="/workspaces/$slug/runs/$runId" params={{ slug, runId: run.previousRun?.id ?? '' }} />
                  )}
                >
                  the run before it
                </Anchor>
              </>
            )}
          </Text>
          <Text size="sm" c="dimmed">
            {toldOf({ onInvalidRow: run.onInvalidRow, onMissingReference: run.onMissingReference })}
          </Text>
        </Stack>
        <Group gap="xs">
          <LoadAgain run={run} />
          <RunActions run={run} planDigest={isPlanned ? (plan?.digest ?? null) : null} />
        </Group>
      </Group>
      <Bar progress={progress.run} state={run.state} label="Read of the package" />
      {run.failure !== null && (
        <Alert color="red" variant="outline" title={run.failure.summary} role="alert">
          {run.failedStep !== null && `Dataset ${run.failedStep.dataset}. `}
          {run.failure.code}, while {run.failure.phase.toLowerCase()}.{' '}
          {run.failure.retryable ? 'Loading the package again may succeed.' : 'Loading the same again would fail the same.'}
        </Alert>
      )}
      {run.whyNotRunning.length > 0 && <Holds title="Why it does not move" holds={run.whyNotRunning} />}
      {isPlanned && <RunPlan runId={run.id} plan={plan} keep={setPlan} />}
      <Group align="stretch" grow preventGrowOverflow={false}>
        <ReadinessCard readiness={run.readiness} />
        <GrantCard run={run} />
        {run.outstandingCancellations.length > 0 && (
          <Section title="Not confirmed stopped">
            {run.outstandingCancellations.map(({ id, dataset, state, cancelAnswer }) => (
              <Group key={id} gap="xs">
                <Text size="sm">{dataset}</Text>
                <State state={state} />
                <Text size="sm" c="dimmed">
                  {cancelAnswer === null ? 'not answered yet' : cancelAnswer}
                </Text>
              </Group>
            ))}
          </Section>
        )}
      </Group>
      <Section title="Datasets">
        <Box visibleFrom="sm">
          <Suspense fallback={<Loader size="sm" />}>
            <RunGraph steps={run.steps} />
          </Suspense>
        </Box>
        <RunSteps run={run} progressOf={progress.of} chosen={step} />
        <RejectedRows run={run} />
      </Section>
      {run.startedAt !== null && (
        <Section title="Timeline">
          <RunTimeline run={run} progress={progress.seen} progressOf={progress.of} />
        </Section>
      )}
      {run.notes.length > 0 && (
        <Section title="What registration let pass">
          {run.notes.map((note) => (
            <Text key={note} size="sm">
              {note}
            </Text>
          ))}
        </Section>
      )}
      <Section title="What happened">
        <RunLog run={run} />
        <RunEvents id={run.id} />
      </Section>
    </Stack>
  );
}

const moving = new Set<string>(['RUNNING', 'PAUSED']);

/** Between events, twice a second, how far it is. Only of what is at work: of the rest the newest reading knows more. */
function useProgress(run: Run): {
  run: Progress;
  of: (step: Run['steps'][number]) => Progress;
  seen: SeenProgress | undefined;
} {
  const follows = moving.has(run.state);
  const [{ data }] = useSubscription({ query: typed(dataRunProgressDocument), variables: { id: run.id }, pause: !follows });
  const seen = follows ? data?.dataRunProgress : undefined;
  return {
    seen,
    run: seen?.progress ?? run.progress,
    of: (step) =>
      (atWork.has(step.state) ? seen?.steps.find(({ dataset }) => dataset === step.dataset)?.progress : undefined) ?? step.progress,
  };
}
