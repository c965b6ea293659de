// Tables and sentences for people.
import type { EventFieldsFragment, RunFieldsFragment } from '../client/gql/graphql.ts';

/** Columns as wide as they need to be; those whose name ends in # are numbers and stand to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const right = head.map((name) => name.endsWith('#'));
  const names = head.map((name) => name.replace(/#$/, ''));
  const widths = names.map((name, column) => Math.max(...[name, ...rows.map((row) => row[column] ?? '')].map(width)));
  const line = (cells: readonly string[]) =>
    widths
      .map((wide, column) => {
        const cell = cells[column] ?? '';
        const space = ' '.repeat(wide - width(cell));
        return right[column] ? space + cell : cell + space;
      })
      .join('  ')
      .trimEnd();
  return [line(names), ...rows.map(line)];
}

function width(text: string): number {
  return [...new Intl.Segmenter().segment(text)].length;
}

/** An integer of any size, with its thousands apart. */
export function count(digits: string): string {
  return BigInt(digits).toLocaleString('en');
}

export function rowTable(run: RunFieldsFragment): string[] {
  const blocked = run.steps.some(({ rows }) => rows.blocked !== '0' || rows.rejected !== '0');
  return table(
    ['DATASET', 'STATE', 'ROWS#', 'LOADED#', 'UPDATED#', 'UNCHANGED#', ...(blocked ? ['REJECTED#', 'BLOCKED#'] : []), 'UNPROCESSED#'],
    run.steps.map(({ dataset, state, rows }) => [
      dataset,
      state,
      ...[rows.source, rows.loaded, rows.updated, rows.unchanged, ...(blocked ? [rows.rejected, rows.blocked] : []), rows.unprocessed].map(
        count,
      ),
    ]),
  );
}

interface Fault {
  readonly row: string;
  readonly field: string | null;
  readonly code: string;
  readonly message: string;
}

const shownFaults = 10;

export function faultTable(faults: readonly Fault[]): string[] {
  if (faults.length === 0) return [];
  const shown = faults.slice(0, shownFaults).map(({ row, field, code, message }) => [row, field ?? '', code, message]);
  return table(['ROW#', 'FIELD', 'CODE', 'FAULT'], shown);
}

interface Missing {
  readonly message: string;
  readonly code: string;
  readonly sampleKeys: readonly string[];
}

export function missingLine({ message, code, sampleKeys }: Missing): string {
  const samples = sampleKeys.length === 0 ? '' : `, such as ${sampleKeys.slice(0, 3).join(', ')}`;
  return `${message} [${code}]${samples}`;
}

/** What a person asks next: why it failed, what is missing, why it does not move. */
export function explanation(run: RunFieldsFragment): string[] {
  const failures = run.steps.flatMap(({ dataset, failure, rowErrorCount }) =>
    failure === null
      ? []
      : [`${dataset}: ${failure.summary} [${failure.code}]${rowErrorCount === '0' ? '' : ` (${count(rowErrorCount)} faults)`}`],
  );
  const isPartly = run.readiness.blockers.some(({ code }) => code === 'ROWS_REJECTED');
  return [
    ...run.notes.map((note) => `note: ${note}`),
    ...(run.failure === null ? [] : [`failed: ${run.failure.summary} [${run.failure.code}]`]),
    ...failures,
    ...run.readiness.blockers.map((blocker) => `not ready: ${missingLine(blocker)}`),
    ...(isPartly ? [`what was left out, with what is wrong with it: packhorse rejected ${run.id} --out rejected.zip`] : []),
    ...run.whyNotRunning.map(({ subject, message, remedy }) => `waiting: ${subject}: ${message} ${remedy}`),
  ];
}

const ofPackages = new Set(['PUBLISH', 'PUBLISH_FAIL', 'EXPIRE']);

export function eventLine(event: EventFieldsFragment): string {
  const change = event.from === null ? event.to : `${event.from} → ${event.to}`;
  const why = [event.cause, event.reason].filter((part) => part !== null).join(': ');
  const subject = subjectOf(event).padEnd(20);
  return `${event.at}  ${event.action.padEnd(10)}  ${subject}  ${change}${why === '' ? '' : `  (${why})`}  by ${event.actor}`;
}

function subjectOf(event: EventFieldsFragment): string {
  if (event.__typename === 'DataRunEvent') return event.dataset ?? 'run';
  if (event.destination !== null) return `to ${event.destination}`;
  return ofPackages.has(event.action) ? 'package' : 'export';
}
