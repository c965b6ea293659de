// How far a run is, drawn for a person at a terminal, and written a line for each change where nobody watches.
import { MultiBar, type SingleBar } from 'cli-progress';
import type { DataRunProgressSubscription } from '../client/gql/graphql.ts';

export type StepProgress = DataRunProgressSubscription['dataRunProgress']['steps'][number];

export interface Bars {
  show(step: StepProgress): void;
  stop(): void;
}

export interface BarOptions {
  readonly datasets: readonly string[];
  readonly isTerminal: boolean;
  readonly note: (line: string) => void;
}

/** 0 to 100; null where the total is not known. */
export function percentOf({ state, progress: { done, total } }: StepProgress): number | null {
  if (total === null) return null;
  // An empty dataset is done when its step is.
  if (total === '0') return state === 'SUCCEEDED' ? 100 : 0;
  return Math.floor((Number(done) / Number(total)) * 100);
}

export function startBars(options: BarOptions): Bars {
  return options.isTerminal ? drawn(options) : written(options);
}

function drawn({ datasets }: BarOptions): Bars {
  const wide = Math.max(...datasets.map((name) => name.length));
  const all = new MultiBar({
    format: '{dataset} |{bar}| {percentage}% {state}',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 30,
    hideCursor: true,
    fps: 20,
    emptyOnZero: true,
    autopadding: true,
  });
  const bars = new Map<string, SingleBar>(
    datasets.map((name) => [name, all.create(100, 0, { dataset: name.padEnd(wide), state: 'PENDING' })]),
  );
  return {
    show: (step) => bars.get(step.dataset)?.update(percentOf(step) ?? 0, { state: step.state }),
    stop: () => all.stop(),
  };
}

function written({ datasets, note }: BarOptions): Bars {
  const wide = Math.max(...datasets.map((name) => name.length));
  const shown = new Map<string, string>();
  return {
    show(step) {
      const percent = percentOf(step);
      const { done, total, unit } = step.progress;
      const now = `${step.state} ${percent === null ? done : Math.floor(percent / 10)}`; // a line for each tenth is enough
      if (shown.get(step.dataset) === now) return;
      shown.set(step.dataset, now);
      note(
        `${step.dataset.padEnd(wide)}  ${step.state.padEnd(10)}  ${done} of ${total ?? '?'} ${unit}${percent === null ? '' : ` (${percent}%)`}`,
      );
    },
    stop() {},
  };
}
