// Export settings as somebody edits them, and what of that goes to the server: only what differs, so that two who change different things do
// not undo each other's.
import type { ExportFormat, ExportSettingsQuery, UpdateExportSettingsInput } from '../../client/gql/graphql.ts';

export type Settings = NonNullable<ExportSettingsQuery['workspace']>['exportSettings'];

export interface DestinationDraft {
  /** Of the row in the form: names change while they are typed. */
  readonly key: number;
  readonly name: string;
  readonly url: string;
  /** Empty: as it is, or made. */
  readonly secret: string;
}

export interface Draft {
  readonly format: ExportFormat;
  readonly takesAll: boolean;
  readonly datasets: readonly string[];
  /** As typed. */
  readonly retentionDays: string;
  readonly destinations: readonly DestinationDraft[];
}

export type Change = Omit<UpdateExportSettingsInput, 'workspaceId'>;
export type Field = keyof Change;

export function draftOf({ format, datasets, retentionDays, destinations }: Settings): Draft {
  return {
    format,
    takesAll: datasets === null,
    datasets: datasets ?? [],
    retentionDays: String(retentionDays),
    destinations: destinations.map(({ name, url }, key) => ({ key, name, url, secret: '' })),
  };
}

/** What the draft changes of the settings that it was begun from. */
export function changeOf(before: Settings, draft: Draft): Change {
  const datasets = draft.takesAll ? null : [...draft.datasets];
  const destinations = draft.destinations.map(({ name, url, secret }) => ({ name, url, ...(secret === '' ? {} : { secret }) }));
  return {
    ...(draft.format === before.format ? {} : { format: draft.format }),
    ...(same(datasets, before.datasets) ? {} : { datasets }),
    ...(draft.retentionDays.trim() === String(before.retentionDays)
      ? {}
      : { retentionDays: draft.retentionDays.trim() === '' ? Number.NaN : Number(draft.retentionDays) }),
    ...(same(destinations, before.destinations.map(bare)) ? {} : { destinations }),
  };
}

/** Whether a destination stands in the settings as it stands in the draft. */
export function isKept(settings: Settings, { name, url, secret }: DestinationDraft): boolean {
  return secret === '' && settings.destinations.some((one) => one.name === name && one.url === url);
}

/** The fields of a change that somebody else has changed since the settings were read. */
export function takenMeanwhile(change: Change, before: Settings, now: Settings): Field[] {
  return (Object.keys(change) as Field[]).filter((field) => !same(of(before, field), of(now, field))); // a change has these fields and no others
}

/** The same changes, as if they had been begun from what the settings are now. */
export function rebased(draft: Draft, change: Change, now: Settings): Draft {
  const theirs = draftOf(now);
  return {
    format: 'format' in change ? draft.format : theirs.format,
    ...('datasets' in change
      ? { takesAll: draft.takesAll, datasets: draft.datasets }
      : { takesAll: theirs.takesAll, datasets: theirs.datasets }),
    retentionDays: 'retentionDays' in change ? draft.retentionDays : theirs.retentionDays,
    destinations: 'destinations' in change ? draft.destinations : theirs.destinations,
  };
}

function of(settings: Settings, field: Field): unknown {
  return field === 'destinations' ? settings.destinations.map(bare) : settings[field];
}

const bare = ({ name, url }: { readonly name: string; readonly url: string }) => ({ name, url });
const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
