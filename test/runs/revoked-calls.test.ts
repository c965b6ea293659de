// Whoever loses their access, at any moment of a run over HTTP, is named in no call soon after. The service's ledger says in whose name calls
// came, and when. With the deadlines of production, since these bound it.
import { decodeJwt } from 'jose';
import { expect, it } from 'vitest';
import { setAccess } from '../auth/access-story.ts';
import { seeded } from '../support/random.ts';
import { remoteGround } from '../support/remote-ground.ts';
import { registered, uuidOf } from '../support/states.ts';
import { createWorkspace, mutate, type Resource, reach, readRun } from '../support/story.ts';

const production = { PACKHORSE_LEASE_MS: '30000', PACKHORSE_HEARTBEAT_MS: '10000', PACKHORSE_CANCEL_DEADLINE_MS: '5000' };
const { app, child } = await remoteGround([{ maxConcurrent: 100 }], production);
const seed = Number(process.env['REVOKED_SEED'] ?? Date.now() % 1_000_000);
const random = seeded(seed);
const allowedMs = 5_000;
const datasets = 8;

const chainOf = (count: number) =>
  Array.from(
    { length: count },
    (_, at): Resource => ({
      name: `d${at}`,
      rows: 'id\n1\n',
      'packhorse:target': 'remote',
      'packhorse:dependsOn': at < 2 ? [] : [`d${at - 2}`],
    }),
  );
const callsOf = (subject: string) => child.calls.filter(({ token }) => decodeJwt(token).sub === subject);

/** Of runs that have shown what they were to show. */
const hurried = new Set<string>();

/** Jobs end as soon as they are looked at; each call waits a while, some for as long as they may. */
function unhurried(): void {
  child.misbehave = ({ name, job, body, honest, send }) => {
    const runId = job?.submission.runId ?? (name === 'submit' ? JSON.parse(body).runId : '');
    const isHurried = hurried.has(runId);
    if (name === 'read' && job !== undefined && (isHurried || random() < 0.5)) job.state = 'succeeded';
    if (isHurried) return false;
    setTimeout(() => send(honest()), random() < 0.05 ? 4_000 : random() * 200);
    return true;
  };
}

type Take = (workspaceId: string, dataRunId: string, subject: string) => Promise<unknown>;
const ways: Readonly<Record<string, Take>> = {
  'their access to the workspace': (workspaceId, _, subject) => setAccess(app, 'revokeAccess', workspaceId, subject),
  'the grant that they left': (_, dataRunId) =>
    app.graphql('mutation ($input: RevokeDataRunGrantInput!) { revokeDataRunGrant(input: $input) { __typename } }', {
      input: { dataRunId },
    }),
};

it.each(Object.entries(ways))(
  `names nobody in a call who has lost %s, and holds the run (REVOKED_SEED=${seed})`,
  async (way, take) => {
    unhurried();
    const rounds = Array.from({ length: 6 }, (_, n) => ({ subject: `eve ${n}, without ${way}`, afterMs: random() * 1_000 }));
    let held = 0;
    const one = async ({ subject, afterMs }: (typeof rounds)[number]) => {
      const workspaceId = await createWorkspace(app);
      const id = await registered(app, workspaceId, chainOf(datasets));
      expect((await mutate(app, 'startDataRun', { dataRunId: id }, await app.token({ subject }))).__typename).toBe('DataRun');
      const from = Date.now();
      await expect.poll(() => Date.now() - from, { interval: 5 }).toBeGreaterThan(afterMs);
      await take(workspaceId, id, subject);
      const taken = Date.now();
      // As long again, in which it could be named.
      await expect.poll(() => Date.now() - taken, { interval: 100 }).toBeGreaterThan(allowedMs + 2_000);
      expect(callsOf(subject).filter(({ at }) => at > taken + allowedMs)).toEqual([]);
      const submitted = child.calls.filter(({ name, key, at }) => name === 'submit' && key?.includes(uuidOf(id)) && at > taken + allowedMs);
      expect(submitted).toEqual([]);
      const { state, whyNotRunning } = await readRun(app, id);
      expect(state).toBe('RUNNING');
      if (whyNotRunning.some(({ code }: { code: string }) => code === 'AUTHORITY_LAPSED')) held++;
      hurried.add(uuidOf(id));
      const bob = await app.token({ subject: 'bob' });
      const query = 'mutation ($input: RenewDataRunGrantInput!) { renewDataRunGrant(input: $input) { __typename } }';
      expect((await app.graphql(query, { input: { dataRunId: id } }, bob)).errors).toEqual([]);
      await reach(app, id, 'SUCCEEDED', 90_000);
      const jobs = child.jobs.filter(({ submission }) => submission.runId === uuidOf(id));
      expect(jobs).toHaveLength(datasets);
      expect(callsOf(subject).filter(({ at }) => at > taken + allowedMs)).toEqual([]);
    };
    await Promise.all(rounds.map(one));
    expect(held).toBeGreaterThan(0);
  },
  120_000,
);
