// What a service promises, each with how it is tried. Every check makes jobs of its own, so that one fault is found by one check.
import { Broken, type Check, expectJob, expectSaid, expectState, isEnded, newKey, untilEnded, type World } from './check.ts';
import type { WireJob } from './wire.ts';

/** A job that was taken, whatever it then is. */
async function submitted(
  world: World,
  submission: Parameters<World['service']['submit']>[1],
  key = newKey(),
): Promise<WireJob & { key: string }> {
  return { ...expectJob(await world.service.submit(key, submission), 'submitting'), key };
}

const authority: Check = {
  name: 'authority',
  says: 'A call without a token, or with one that does not hold, is refused, and does nothing.',
  async run({ service, strangers, materials }) {
    if (Object.keys(strangers).length === 0) return 'its calls carry no token';
    const submission = await materials.plain();
    for (const [how, stranger] of Object.entries(strangers)) {
      const key = newKey();
      expectSaid(await stranger.find(key), 'forbidden', `looking up ${how}`);
      expectSaid(await stranger.submit(key, submission), 'forbidden', `submitting ${how}`);
      expectSaid(await stranger.cancelByKey(newKey()), 'forbidden', `cancelling ${how}`);
      expectSaid(await service.find(key), 'none', `looking up what was submitted ${how}`);
    }
    return undefined;
  },
};

const unknownJob: Check = {
  name: 'unknown-job',
  says: 'Of a job that there is not, by id or by key, 404 is said.',
  async run({ service }) {
    expectSaid(await service.read('no-such-job'), 'none', 'reading');
    expectSaid(await service.find(newKey()), 'none', 'looking up');
    expectSaid(await service.cancel('no-such-job'), 'none', 'cancelling');
    return undefined;
  },
};

const sameKey: Check = {
  name: 'same-key',
  says: 'The same key always gives the same job, one after the other and at once.',
  async run(world) {
    const submission = await world.materials.plain();
    const key = newKey();
    const together = await Promise.all(Array.from({ length: 5 }, () => submitted(world, submission, key)));
    const [first] = together;
    await untilEnded(world, first?.id ?? '');
    const ids = new Set([...together, await submitted(world, submission, key)].map(({ id }) => id));
    if (ids.size > 1) throw new Broken(`the key was submitted 6 times, and made ${ids.size} jobs`);
    const other = await submitted(world, submission);
    if (ids.has(other.id)) throw new Broken('another key gave the same job');
    return undefined;
  },
};

const lookUp: Check = {
  name: 'look-up',
  says: 'A job is found by its key.',
  async run(world) {
    const job = await submitted(world, await world.materials.plain());
    const found = expectJob(await world.service.find(job.key), 'looking up');
    if (found.id !== job.id) throw new Broken(`expected the job ${job.id}, found ${found.id}`);
    return undefined;
  },
};

const data: Check = {
  name: 'data',
  says: 'A job reads its data from the URL that it was given, and accounts for every row.',
  async run(world) {
    const submission = await world.materials.plain();
    const { id } = await submitted(world, submission);
    const { rows, state, failure } = await untilEnded(world, id);
    if (state !== 'succeeded') throw new Broken(`expected succeeded, found ${state}${failure === undefined ? '' : `: ${failure.summary}`}`);
    if (world.materials.reads(submission) === 0) throw new Broken('the job succeeded, and its data were never read');
    if (rows === undefined) throw new Broken('the job succeeded, and says nothing of its rows');
    if (rows.source !== 7) throw new Broken(`expected 7 rows in the source, found ${rows.source}`);
    const { source, ...parts } = rows;
    const sum = Object.values(parts).reduce((total, part) => total + part, 0);
    return sum === source ? undefined : Promise.reject(new Broken(`expected the rows to add up to ${source}, found ${sum}`));
  },
};

const progress: Check = {
  name: 'progress',
  says: 'What is said to be done does not go down, and does not pass the total.',
  async run(world) {
    const { submission, release } = await world.materials.held();
    const { id } = await submitted(world, submission);
    const seen: NonNullable<WireJob['progress']>[] = [];
    const look = ({ progress: told }: WireJob) => void (told !== undefined && seen.push(told));
    for (let looks = 0; looks < 3; looks++) look(expectJob(await world.service.read(id), 'reading'));
    await release();
    await untilEnded(world, id, look);
    if (seen.length === 0) return 'it tells no progress';
    for (const [at, { done, total }] of seen.entries()) {
      const before = seen[at - 1]?.done ?? 0;
      if (done < before) throw new Broken(`it went from ${before} down to ${done}`);
      if (total !== null && done > total) throw new Broken(`${done} of ${total} are done`);
    }
    return undefined;
  },
};

const states: Check = {
  name: 'states',
  says: 'A job never goes back, and how it has ended does not change.',
  async run(world) {
    const { submission, release } = await world.materials.held();
    const { id } = await submitted(world, submission);
    const rank = (job: WireJob) => (isEnded(job) ? 2 : job.state === 'running' ? 1 : 0);
    let last: WireJob | undefined;
    const look = (job: WireJob) => {
      const back = last !== undefined && (rank(job) < rank(last) || (isEnded(last) && job.state !== last.state));
      if (back) throw new Broken(`it went from ${last?.state} to ${job.state}`);
      last = job;
    };
    look(expectJob(await world.service.read(id), 'reading'));
    await release();
    await untilEnded(world, id, look);
    for (let looks = 0; looks < 8; looks++) look(expectJob(await world.service.read(id), 'reading after its end'));
    return undefined;
  },
};

const blocked: Check = {
  name: 'blocked',
  says: 'A job that ends blocked names what is missing.',
  async run(world) {
    const { id } = await submitted(world, await world.materials.orphans());
    const { state, blockers = [] } = await untilEnded(world, id);
    if (state === 'succeeded') return 'it does not look at foreign keys: rows that point at nothing were loaded';
    if (state !== 'blocked') throw new Broken(`rows that point at nothing, to be blocked: expected blocked, found ${state}`);
    if (blockers.length === 0) throw new Broken('it is blocked, and names nothing that is missing');
    return undefined;
  },
};

const cancel: Check = {
  name: 'cancel',
  says: 'A job that is asked to stop stops, and writes nothing more.',
  async run(world) {
    const { submission, release } = await world.materials.held();
    const { id } = await submitted(world, submission);
    const said = await world.service.cancel(id);
    if (said.is !== 'asked') expectJob(said, 'cancelling');
    try {
      expectState(await untilEnded(world, id), 'cancelled', 'after the cancel');
    } finally {
      await release();
    }
    expectState(expectJob(await world.service.read(id), 'reading'), 'cancelled', 'after its data had come');
    return undefined;
  },
};

const cancelByKey: Check = {
  name: 'cancel-by-key',
  says: 'The same by key.',
  async run(world) {
    const { submission, release } = await world.materials.held();
    const { id, key } = await submitted(world, submission);
    const said = await world.service.cancelByKey(key);
    if (said.is !== 'asked') expectJob(said, 'cancelling');
    try {
      expectState(await untilEnded(world, id), 'cancelled', 'after the cancel');
    } finally {
      await release();
    }
    return undefined;
  },
};

const lateCancel: Check = {
  name: 'late-cancel',
  says: 'A cancel that comes after the end changes nothing.',
  async run(world) {
    const { id } = await submitted(world, await world.materials.plain());
    const { state } = await untilEnded(world, id);
    const said = await world.service.cancel(id);
    if (said.is !== 'asked') expectState(expectJob(said, 'cancelling'), state, 'in the answer to the cancel');
    expectState(expectJob(await world.service.read(id), 'reading'), state, 'after the cancel');
    return undefined;
  },
};

const tombstone: Check = {
  name: 'tombstone',
  says: 'A key that was cancelled before its submission came is buried: the submission is answered with a cancelled job.',
  async run(world) {
    const key = newKey();
    const said = await world.service.cancelByKey(key);
    if (said.is !== 'asked')
      expectState(expectJob(said, 'cancelling by a key that was never submitted'), 'cancelled', 'in the answer to the cancel');
    const submission = await world.materials.plain();
    const job = await submitted(world, submission, key);
    expectState(job, 'cancelled', 'submitting with the key');
    if ((world.materials.reads(submission) ?? 0) > 0) throw new Broken('its data were read all the same');
    return undefined;
  },
};

export const checks: readonly Check[] = [
  authority,
  unknownJob,
  sameKey,
  lookUp,
  data,
  progress,
  states,
  blocked,
  cancel,
  cancelByKey,
  lateCancel,
  tombstone,
];
