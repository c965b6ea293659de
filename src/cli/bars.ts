// How far each dataset of a run or an export is, drawn for a person at a terminal, and written a line for each change where nobody watches.
import { MultiBar, type SingleBar } from 'cli-progress';
import { count } from './print.ts';

export interface DatasetProgress {
  readonly dataset: string;
  readonly state: string;
  /** `total` is null where it is not known. */
  readonly progress: { readonly done: string; readonly total: string | null; readonly unit: string };
}

export interface Bars {
  show(dataset: DatasetProgress): void;
  stop(): void;
}

export interface BarOptions {
  readonly datasets: readonly string[];
  readonly isTerminal: boolean;
  readonly note: (line: string) => void;
}

/** 0 to 100; null where the total is not known. */
export function percentOf({ state, progress: { done, total } }: DatasetProgress): number | null {
  if (total === null) return null;
  // An empty dataset is done when what it is part of is.
  if (total === '0') return state === 'SUCCEEDED' ? 100 : 0;
  return Math.floor((Number(done) / Number(total)) * 100);
}

export function startBars(options: BarOptions): Bars {
  return options.isTerminal ? drawn(options) : written(options);
}

function drawn({ datasets }: BarOptions): Bars {
  const wide = Math.max(...datasets.map((name) => name.length));
  const all = new MultiBar({
    format: '{dataset} |{bar}| {percentage}% {state} {amount}',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 20,
    hideCursor: true,
    fps: 20,
    emptyOnZero: true,
    autopadding: true,
  });
  const bars = new Map<string, SingleBar>(
    datasets.map((name) => [name, all.create(100, 0, { dataset: name.padEnd(wide), state: 'PENDING', amount: '' })]),
  );
  return {
    show(of) {
      const { done, total, unit } = of.progress;
      const amount = `${count(done)} of ${total === null ? '?' : count(total)} ${unit}`;
      bars.get(of.dataset)?.update(percentOf(of) ?? 0, { state: of.state.padEnd(9), amount });
    },
    stop: () => all.stop(),
  };
}

function written({ datasets, note }: BarOptions): Bars {
  const wide = Math.max(...datasets.map((name) => name.length));
  const shown = new Map<string, string>();
  return {
    show(of) {
      const percent = percentOf(of);
      const { done, total, unit } = of.progress;
      const now = `${of.state} ${percent === null ? done : Math.floor(percent / 10)}`; // a line for each tenth is enough
      if (shown.get(of.dataset) === now) return;
      shown.set(of.dataset, now);
      note(
        `${of.dataset.padEnd(wide)}  ${of.state.padEnd(10)}  ${done} of ${total ?? '?'} ${unit}${percent === null ? '' : ` (${percent}%)`}`,
      );
    },
    stop() {},
  };
}
