import { expect, it } from 'vitest';
import { freshDatabase } from '../support/database.ts';
import { door } from './proxy.ts';
import { bells, logOf, openBell, openTestDb, read, ringing, upTo } from './reading.ts';
import { makeYard, write } from './writing.ts';

const url = await freshDatabase();
const db = openTestDb(url);
const never = 600_000;

it('delivers by the poll when no notice is ever heard', async () => {
  const bell = openBell(url, 200);
  const { workspaceId, runs } = await makeYard(db, 1);
  const [id = ''] = runs;
  const reader = read(db, bell, { workspaceId });
  for (const n of upTo(5)) {
    await write(db, id, `n${n}`); // rings no bell: without the poll the test waits in vain
    await reader.until(`n${n}`);
  }
  expect(reader.events.map(({ sequence }) => sequence)).toEqual(upTo(6));
  reader.stop();
  await bell.close();
});

it('tells other processes at once, by notice alone', async () => {
  const [here, there] = [openBell(url, never), openBell(url, never)];
  const { workspaceId, runs } = await makeYard(db, 1);
  const reader = read(db, there, { workspaceId });
  await listening(2);
  for (const n of upTo(50)) await write(ringing(db, here), runs[0] ?? '', `n${n}`);
  await reader.until('n50');
  expect(reader.events.map(({ sequence }) => sequence)).toEqual(upTo(51));
  reader.stop();
  await Promise.all([here.close(), there.close()]);
});

it('tells what was committed last even when it is stopped at once', async () => {
  const [here, there] = [openBell(url, never), openBell(url, never)];
  const { workspaceId, runs } = await makeYard(db, 1);
  const reader = read(db, there, { workspaceId });
  await listening(2);
  await expect.poll(() => reader.events.length).toBe(1);
  await write(db, runs[0] ?? '', 'last');
  here.ring('progress:another'); // on its way, so that the next has to wait
  here.ring(`log:${workspaceId}`);
  await here.close();
  await reader.until('last');
  reader.stop();
  await there.close();
});

it('loses nothing while its connection is ended thirty times', async () => {
  const [here, there] = [openBell(url, never), openBell(url, never)];
  const { workspaceId, runs } = await makeYard(db, 4);
  const readers = [here, there].map((bell) => read(db, bell, { workspaceId }));
  await listening(2);
  let stop = false;
  let written = 0;
  const loud = ringing(db, here);
  const writers = runs.map(async (id) => {
    while (!stop) await write(loud, id, `n${++written}`);
  });
  try {
    for (let ended = 0; ended < 30; ended++) {
      const gone = await bells(db);
      await db.pool.query('SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid', [gone]);
      await expect.poll(async () => (await bells(db)).filter((pid) => !gone.includes(pid)).length, { interval: 10 }).toBe(2);
      await listening(2); // ending a backend takes a moment
    }
  } finally {
    stop = true;
    await Promise.all(writers);
  }
  await write(loud, runs[0] ?? '', 'end');
  const expected = (await logOf(db, { workspaceId })).map(({ position }) => position);
  for (const reader of readers) {
    expect((await reader.until('end')).map(({ position }) => position)).toEqual(expected);
    reader.stop();
  }
  await Promise.all([here.close(), there.close()]);
});

it('wakes everybody when it is connected again, for what was said meanwhile', async () => {
  const way = await door(url);
  const troubles: unknown[] = [];
  const bell = openBell(way.url, never, { trouble: (error) => troubles.push(error) });
  const { workspaceId, runs } = await makeYard(db, 1);
  const reader = read(db, bell, { workspaceId });
  await listening(1);
  await expect.poll(() => reader.events.length).toBe(1);
  way.shut();
  await listening(0);
  await write(db, runs[0] ?? '', 'meanwhile');
  await expect.poll(() => way.knocks()).toBeGreaterThan(2); // it tries
  expect(troubles.length).toBeGreaterThan(0);
  expect(reader.events).toHaveLength(1);
  way.open();
  await reader.until('meanwhile');
  reader.stop();
  await bell.close();
});

it('tells others what it could not tell while it was cut off', async () => {
  const way = await door(url);
  const [here, there] = [openBell(way.url, never), openBell(url, never)];
  const { workspaceId, runs } = await makeYard(db, 1);
  const reader = read(db, there, { workspaceId });
  await listening(2);
  await expect.poll(() => reader.events.length).toBe(1);
  way.shut();
  await write(ringing(db, here), runs[0] ?? '', 'cut off');
  await listening(1);
  way.open();
  await reader.until('cut off');
  reader.stop();
  await Promise.all([here.close(), there.close()]);
});

it('tells others again what was lost on its way to Postgres', async () => {
  const way = await door(url);
  const [here, there] = [openBell(way.url, never, { probing: { everyMs: 50, limitMs: 150 } }), openBell(url, never)];
  const { workspaceId, runs } = await makeYard(db, 1);
  const reader = read(db, there, { workspaceId });
  await listening(2);
  await expect.poll(() => reader.events.length).toBe(1);
  way.swallow();
  await write(ringing(db, here), runs[0] ?? '', 'swallowed');
  way.open();
  await reader.until('swallowed');
  reader.stop();
  await Promise.all([here.close(), there.close()]);
});

it('finds a connection that is half open, and loses nothing by it', async () => {
  const way = await door(url);
  const bell = openBell(way.url, never, { probing: { everyMs: 50, limitMs: 150 } });
  const { workspaceId, runs } = await makeYard(db, 1);
  const reader = read(db, bell, { workspaceId });
  await listening(1);
  await expect.poll(() => reader.events.length).toBe(1);
  way.swallow();
  await write(db, runs[0] ?? '', 'unheard');
  way.open(); // for the next connection: this one stays as it is
  await reader.until('unheard');
  reader.stop();
  await bell.close();
});

it('is not held up when it is closed while its connection is half open, or still being made', async () => {
  const way = await door(url);
  const bell = openBell(way.url, never, { probing: { everyMs: never, limitMs: never } });
  await listening(1);
  way.swallow();
  bell.ring('log:any'); // a question that is never answered
  const connecting = openBell(way.url, never);
  await expect.poll(() => way.knocks()).toBe(2);
  const at = performance.now();
  await Promise.all([bell.close(), connecting.close()]);
  expect(performance.now() - at).toBeLessThan(4_500); // a connection that is being made gives up by itself after five seconds
});

it('keeps trying, ever more slowly, where Postgres is not there when it starts', async () => {
  const way = await door(url);
  way.shut();
  const troubles: unknown[] = [];
  const bell = openBell(way.url, never, { trouble: (error) => troubles.push(error) });
  const { workspaceId, runs } = await makeYard(db, 1);
  const reader = read(db, bell, { workspaceId });
  await expect.poll(() => reader.events.length).toBe(1); // what is in the log needs no bell
  const at = performance.now();
  await expect.poll(() => troubles.length).toBe(5);
  expect(performance.now() - at).toBeGreaterThan(300); // 0, 50, 100, 200, 400 ms
  await write(db, runs[0] ?? '', 'meanwhile');
  way.open();
  await reader.until('meanwhile');
  reader.stop();
  await bell.close();
});

it('takes over a thousand topics at once', async () => {
  const [here, there] = [openBell(url, never), openBell(url, never)];
  await listening(2);
  const { workspaceId, runs } = await makeYard(db, 1);
  const reader = read(db, there, { workspaceId }, 1n);
  await expect.poll(() => there.waiting()).toBe(1);
  await write(db, runs[0] ?? '', 'last of many');
  for (const n of upTo(1_000)) here.ring(`progress:${String(n).padStart(36, '0')}`);
  here.ring(`log:${workspaceId}`);
  await reader.until('last of many');
  reader.stop();
  await Promise.all([here.close(), there.close()]);
});

it('counts what was found by the poll and never announced, not what was announced late', async () => {
  const bell = openBell(url, 1_000);
  const { workspaceId, runs } = await makeYard(db, 1);
  const [id = ''] = runs;
  const reader = read(db, bell, { workspaceId });
  await listening(1); // or its connection would have it look
  await expect.poll(() => reader.events.length).toBe(1);
  await write(db, id, 'late');
  await reader.until('late');
  const looks = reader.looks();
  bell.ring(`log:${workspaceId}`);
  // The look that found it may not be over, and the one that is rung for must be: it would find what is lost.
  await expect.poll(() => reader.looks()).toBeGreaterThanOrEqual(looks + 2);
  for (const n of upTo(4)) {
    await write(db, id, `lost ${n}`);
    await reader.until(`lost ${n}`);
  }
  expect(bell.counts().foundByPoll).toBe(3); // whether a notice of the fourth comes is still open
  reader.stop();
  await bell.close();
});

it('counts nothing as found by the poll where notices come', async () => {
  const [here, there] = [openBell(url, 1_000), openBell(url, 1_000)]; // a notice that comes later than that counts as lost
  const { workspaceId, runs } = await makeYard(db, 1);
  const reader = read(db, there, { workspaceId });
  await listening(2);
  for (const n of upTo(200)) await write(ringing(db, here), runs[0] ?? '', `n${n}`);
  await reader.until('n200');
  expect(there.counts()).toMatchObject({ foundByPoll: 0, own: 0, reconnects: 0 });
  expect(there.counts().other).toBeGreaterThan(0);
  reader.stop();
  await Promise.all([here.close(), there.close()]);
});

it('counts what it rang and what it heard, and not its own as heard', async () => {
  const [here, there] = [openBell(url, never), openBell(url, never)];
  await listening(2);
  for (const n of upTo(3)) here.ring(`log:${n}`);
  await expect.poll(() => there.counts()).toMatchObject({ own: 0, other: 3 });
  there.ring('log:4');
  await expect.poll(() => here.counts()).toMatchObject({ own: 3, other: 1 });
  expect(there.counts()).toMatchObject({ own: 1, other: 3 });
  await Promise.all([here.close(), there.close()]);
});

it('says whether it is connected, and counts how often it was connected again', async () => {
  const way = await door(url);
  const bell = openBell(way.url, never);
  expect(bell.counts()).toMatchObject({ connected: false, reconnects: 0 });
  for (const reconnects of [0, 1, 2]) {
    await expect.poll(() => bell.counts()).toMatchObject({ connected: true, reconnects });
    way.shut();
    await expect.poll(() => bell.counts()).toMatchObject({ connected: false, reconnects });
    way.open();
  }
  await bell.close();
});

async function listening(count: number): Promise<void> {
  await expect.poll(async () => (await bells(db)).length, { interval: 10 }).toBe(count);
}
