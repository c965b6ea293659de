// One signed webhook to a destination as it is saved, for whoever wants to see whether it arrives: by what deliveries are sent with, but
// once, and nothing is kept of it.
import { v7 as uuidv7 } from 'uuid';
import { demand, type Viewer } from '../auth/viewer.ts';
import { BusyError, ConflictError, NotFoundError } from '../errors.ts';
import { checkText } from '../text.ts';
import { findWorkspace } from '../workspaces/operations.ts';
import type { Exports } from './operations.ts';
import { type CopiedDestination, destinationsOf } from './plan.ts';
import { secretContext } from './settings.ts';
import { accountOf, type Sent, sendWebhook } from './webhook.ts';

export interface DestinationPing extends Sent {
  readonly ms: number;
  readonly at: Date;
}

type Pinger = Pick<Exports, 'db' | 'outbound' | 'sealer' | 'pinging' | 'stop'>;

export async function pingDestination(
  pinger: Pinger,
  viewer: Viewer,
  input: { readonly workspaceId: string; readonly name: string },
): Promise<DestinationPing> {
  const { db, pinging } = pinger;
  const { id, slug } = await findWorkspace(db, viewer, input.workspaceId);
  demand(viewer, 'workspace:admin');
  const name = checkText('name', input.name, { max: 100 });
  const settings = await db.prisma.exportSettings.findUniqueOrThrow({ where: { workspaceId: id }, select: { destinations: true } });
  const destination = destinationsOf(settings).find((one) => one.name === name);
  if (destination === undefined) throw new NotFoundError('destination');
  const key = `${id} ${name}`;
  if (pinging.has(key)) throw new ConflictError('PING_BUSY', 'This destination is being tested already. Try again in a moment.');
  pinging.add(key);
  try {
    const began = performance.now();
    const sent = await send(pinger, destination, { id, slug });
    return { ...sent, ms: Math.round(performance.now() - began), at: new Date() };
  } finally {
    pinging.delete(key);
  }
}

async function send(
  { outbound, sealer, stop }: Pinger,
  { name, url, secret: sealed }: CopiedDestination,
  workspace: { readonly id: string; readonly slug: string },
): Promise<Sent> {
  const secret = sealer.open(sealed, secretContext(workspace.id));
  if (secret === null) {
    const message = 'The signing secret was sealed under another PACKHORSE_JWT_SECRET. Set the destination’s secret again.';
    return { status: null, code: 'SECRET_UNREADABLE', message };
  }
  const now = new Date();
  const data = { workspace: workspace.slug, destination: name };
  const body = JSON.stringify({ type: 'destination.ping', timestamp: now.toISOString(), data });
  try {
    return accountOf(await sendWebhook(outbound, { id: `ping_${uuidv7()}`, url, secret, body, now, signal: stop }));
  } catch (error) {
    throw stop.aborted ? new BusyError('The server is stopping: whether the test arrived is not known.') : error;
  }
}
