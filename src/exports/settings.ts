// A workspace's export settings: changed as a whole row, under the lock that admission takes.
import type { Sealer } from '../auth/sealed.ts';
import { demand, type Viewer } from '../auth/viewer.ts';
import { inTransaction, Prisma } from '../db.ts';
import { InvalidInputError } from '../errors.ts';
import type { ExportFormat } from '../generated/prisma/client.ts';
import type { AllowedHosts } from '../outbound/hosts.ts';
import { checkText } from '../text.ts';
import { findWorkspace } from '../workspaces/operations.ts';
import type { Exports } from './operations.ts';
import { type CopiedDestination, destinationsOf } from './plan.ts';
import { newWebhookSecret, whySecretIsUnusable } from './webhook.ts';

export interface DestinationInput {
  readonly name: string;
  readonly url: string;
  readonly secret?: string | null | undefined;
}

export interface SettingsInput {
  readonly workspaceId: string;
  readonly format?: ExportFormat | null | undefined;
  /** null: all datasets. Absent: as they are. */
  readonly datasets?: readonly string[] | null | undefined;
  readonly retentionDays?: number | null | undefined;
  readonly destinations?: readonly DestinationInput[] | null | undefined;
}

const longestRetentionDays = 3_650;
const mostDestinations = 20;
const mostDatasets = 2_000;

/** Secrets that were made for destinations that came without one, by the destination's name: to be shown once, in the answer. */
export type MadeSecrets = ReadonlyMap<string, string>;

export async function updateExportSettings(
  { db, hosts, sealer }: Pick<Exports, 'db' | 'hosts' | 'sealer'>,
  viewer: Viewer,
  input: SettingsInput,
): Promise<MadeSecrets> {
  const workspace = await findWorkspace(db, viewer, input.workspaceId);
  demand(viewer, 'workspace:admin');
  checkSettings(input, hosts);
  const made = new Map<string, string>();
  await inTransaction(db, async ({ sql }) => {
    const [locked] = await sql.$queryRaw<{ destinations: unknown }[]>`
      SELECT destinations FROM export_settings WHERE workspace_id = ${workspace.id}::uuid FOR UPDATE`;
    if (locked === undefined) throw new Error('a workspace has no export settings');
    made.clear(); // the transaction may run again
    const destinations = input.destinations == null ? null : merge(destinationsOf(locked), input.destinations, sealer, workspace.id, made);
    await sql.exportSettings.update({
      where: { workspaceId: workspace.id },
      data: {
        revision: { increment: 1 },
        ...(input.format == null ? {} : { format: input.format }),
        ...(input.datasets === undefined ? {} : { datasets: input.datasets === null ? Prisma.DbNull : [...input.datasets] }),
        ...(input.retentionDays == null ? {} : { retentionDays: input.retentionDays }),
        ...(destinations === null ? {} : { destinations }),
      },
    });
  });
  return made;
}

/** What a sealed secret is bound to: taken to another workspace's settings, it does not open. */
export const secretContext = (workspaceId: string) => `export destination of ${workspaceId}`;

/** A destination that keeps its URL keeps its secret, unless another is given; a new one, or one with another URL, gets a new secret. */
function merge(
  before: readonly CopiedDestination[],
  stated: readonly DestinationInput[],
  sealer: Sealer,
  workspaceId: string,
  made: Map<string, string>,
): CopiedDestination[] {
  return stated.map(({ name, url, secret }) => {
    const kept = before.find((one) => one.name === name && one.url === url);
    if (secret == null && kept !== undefined) return kept;
    const plain = secret ?? newWebhookSecret();
    if (secret == null) made.set(name, plain);
    return { name, url, secret: sealer.seal(plain, secretContext(workspaceId)) };
  });
}

function checkSettings(input: SettingsInput, hosts: AllowedHosts): void {
  const { retentionDays, datasets, destinations } = input;
  if (retentionDays != null && (retentionDays < 1 || retentionDays > longestRetentionDays)) {
    throw new InvalidInputError('retentionDays', `A package is kept for 1 to ${longestRetentionDays.toLocaleString('en')} days.`);
  }
  if (datasets != null) {
    if (datasets.length === 0) throw new InvalidInputError('datasets', 'Name at least one dataset, or give null for all of them.');
    if (datasets.length > mostDatasets) throw new InvalidInputError('datasets', `At most ${mostDatasets} datasets can be named.`);
    for (const name of datasets) checkText('datasets', name, { max: 200 });
    if (new Set(datasets).size < datasets.length) throw new InvalidInputError('datasets', 'A dataset is named twice.');
  }
  if (destinations != null) checkDestinations(destinations, hosts);
}

function checkDestinations(destinations: readonly DestinationInput[], hosts: AllowedHosts): void {
  const refuse = (message: string) => new InvalidInputError('destinations', message);
  if (destinations.length > mostDestinations) throw refuse(`At most ${mostDestinations} destinations can be kept.`);
  for (const { name, url, secret } of destinations) {
    checkText('destinations', name, { max: 100 });
    if (name.trim() === '') throw refuse('A destination needs a name.');
    checkText('destinations', url, { max: 2_000 });
    const why = hosts.whyRefused(url) ?? (secret == null ? null : whySecretIsUnusable(secret));
    if (why !== null) throw refuse(`The destination ${JSON.stringify(name)} cannot be used: ${why}`);
  }
  const names = destinations.map(({ name }) => name);
  if (new Set(names).size < names.length) throw refuse('Two destinations have the same name.');
}
