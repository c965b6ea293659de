// When each dataset of a run was at work, how fast it went, and what is left of it.
import { Table, Text } from '@mantine/core';
import { type CSSProperties, memo, useEffect, useState } from 'react';
import type { DataRunProgressSubscription } from '../../client/gql/graphql.ts';
import { bytesIn, count, toneOf } from '../said.tsx';
import { Wide } from '../wide.tsx';
import { aboutIn, leftOf, lengthIn, rateOf, type Sample, seen } from './rates.ts';
import { atWork, type Run } from './run.ts';

export type SeenProgress = DataRunProgressSubscription['dataRunProgress'];

type Step = Run['steps'][number];
type Progress = Step['progress'];

interface RunTimelineProps {
  readonly run: Run;
  /** The newest of what is told while it runs; undefined where nothing is. */
  readonly progress: SeenProgress | undefined;
  readonly progressOf: (step: Step) => Progress;
}

const hasRows = new Set<string>(['SUCCEEDED', 'BLOCKED']);

export function RunTimeline({ run, progress, progressOf }: RunTimelineProps) {
  const isMoving = run.steps.some(({ state }) => atWork.has(state));
  const now = useServerTime(progress?.at, isMoving);
  const samples = useSamples(progress);
  if (run.startedAt === null) return null;
  const start = Date.parse(run.startedAt);
  const ends = run.steps.flatMap(({ submittedAt, settledAt }) => [submittedAt, settledAt]).concat(run.settledAt);
  const last = Math.max(start + 1, isMoving ? now : 0, ...ends.flatMap((at) => (at === null ? [] : [Date.parse(at)])));
  return (
    // The span is the styles' affair: a bar that stands still is not drawn again because the time goes on.
    <div style={{ '--span': last - start } as CSSProperties}>
      <Wide label="Timeline of the run" head={['Dataset', `${lengthIn(last - start)} in all`, 'Began after#', 'Took#', 'Rate#', 'Left#']}>
        {run.steps.map((step) => {
          const told = progressOf(step);
          const isActive = atWork.has(step.state);
          const rate = isActive ? rateOf(samples.get(step.dataset) ?? [], now) : null;
          return (
            <Line
              key={step.id}
              step={step}
              start={start}
              now={isActive ? last : null}
              unit={told.unit}
              rate={rate}
              left={leftOf(told, rate)}
            />
          );
        })}
      </Wide>
      <Text size="xs" c="dimmed" mt="xs">
        Of the newest attempt, from its submission to its end: what waits in a target’s queue counts too. What is left is estimated from
        what was read in the last seconds, where the total is known; checking and writing what was read is not in it.
      </Text>
    </div>
  );
}

interface LineProps {
  readonly step: Step;
  /** Milliseconds since 1970: when the run began; and how late it is, for what is at work. */
  readonly start: number;
  readonly now: number | null;
  readonly unit: string;
  readonly rate: number | null;
  readonly left: number | null;
}

const Line = memo(function Line({ step, start, now, unit, rate, left }: LineProps) {
  const began = step.submittedAt === null ? null : Date.parse(step.submittedAt);
  const ended = step.settledAt === null ? now : Date.parse(step.settledAt);
  return (
    <Table.Tr data-timed={step.dataset}>
      <Table.Th scope="row">{step.dataset}</Table.Th>
      <Table.Td className="lane">
        {began !== null && ended !== null && (
          <div
            className="bar"
            data-tone={toneOf(step.state)}
            title={step.state}
            style={{ '--from': Math.max(0, began - start), '--to': Math.max(0, ended - start) } as CSSProperties}
          />
        )}
      </Table.Td>
      <Table.Td className="num">{began !== null && lengthIn(began - start)}</Table.Td>
      <Table.Td className="num">
        {began !== null && ended !== null && lengthIn(ended - began)}
        {now !== null && ' so far'}
      </Table.Td>
      <Table.Td className="num">{rate === null ? meanOf(step) : `${amount(rate, unit)}/s now`}</Table.Td>
      <Table.Td className="num">{left !== null && aboutIn(left)}</Table.Td>
    </Table.Tr>
  );
});

/** Of one that has ended: all of its rows by all of its time. */
function meanOf({ state, rows: { source }, submittedAt, settledAt }: Step): string | null {
  if (!hasRows.has(state) || source === '0' || submittedAt === null || settledAt === null) return null;
  const ms = Date.parse(settledAt) - Date.parse(submittedAt);
  return ms <= 0 ? null : `${amount((Number(source) * 1_000) / ms, 'rows')}/s`;
}

function amount(rate: number, unit: string): string {
  const whole = String(Math.round(rate));
  return unit === 'bytes'
    ? bytesIn(whole)
    : `${rate < 10 ? rate.toLocaleString('en', { maximumFractionDigits: 1 }) : count(whole)} ${unit}`;
}

/** Milliseconds since 1970 by the server’s clock, as far as it has told: it goes on while something is at work. */
function useServerTime(toldAt: string | undefined, isMoving: boolean): number {
  const [ahead, setAhead] = useState(0);
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (toldAt !== undefined) setAhead(Date.parse(toldAt) - Date.now());
  }, [toldAt]);
  useEffect(() => {
    if (!isMoving) return;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [isMoving]);
  return Math.max(now + ahead, toldAt === undefined ? 0 : Date.parse(toldAt));
}

/** By dataset, what was seen lately of those that are at work. */
function useSamples(progress: SeenProgress | undefined): ReadonlyMap<string, readonly Sample[]> {
  const [samples, setSamples] = useState<ReadonlyMap<string, readonly Sample[]>>(new Map());
  useEffect(() => {
    if (progress === undefined) return;
    const at = Date.parse(progress.at);
    const active = progress.steps.filter(({ state }) => state === 'ACTIVE');
    setSamples(
      (before) =>
        new Map(active.map((step) => [step.dataset, seen(before.get(step.dataset) ?? [], { at, done: Number(step.progress.done) })])),
    );
  }, [progress]);
  return samples;
}
