// Readers that follow the log as the server does, and the database that they follow it in.
import { afterAll, expect, onTestFinished } from 'vitest';
import { type Db, openDb } from '../../src/db.ts';
import { follow } from '../../src/events/follow.ts';
import { type Bell, type ProbeTimes, startBell } from '../../src/events/listen.ts';
import type { LogScope } from '../../src/events/log.ts';
import type { LifecycleEvent } from '../../src/generated/prisma/client.ts';

/** What a test opens ends with it, and what a file opens with the file. */
export function later(undo: () => unknown): void {
  const end = async () => void (await undo());
  if (expect.getState().currentTestName === undefined) afterAll(end);
  else onTestFinished(end);
}

export function openTestDb(url: string, poolSize = 10): Db {
  const db = openDb(url, { poolSize, statementTimeoutMs: 60_000 });
  later(() => db.close());
  return db;
}

export function openBell(url: string, pollMs: number, options: { trouble?: (error: unknown) => void; probing?: ProbeTimes } = {}): Bell {
  const bell = startBell(url, pollMs, options.trouble ?? (() => {}), options.probing);
  later(() => bell.close());
  return bell;
}

/** The same database, whose commits ring a bell. */
export const ringing = (db: Db, bell: Bell): Db => ({ ...db, announce: (topic) => bell.ring(topic) });

export interface Reader {
  readonly events: LifecycleEvent[];
  /** How often it has looked and found all that there was. */
  looks(): number;
  /** All that it received, once it has received one with this reason. */
  until(reason: string): Promise<LifecycleEvent[]>;
  stop(): void;
}

export function read(db: Db, bell: Bell, scope: LogScope, after = 0n): Reader {
  const stopping = new AbortController();
  const events: LifecycleEvent[] = [];
  const waiting = new Map<string, () => void>();
  const seen = new Set<string>();
  let looks = 0;
  const place = { from: null, at: () => {}, atTail: () => void looks++ };
  const failed = new Promise<never>((_resolve, reject) => {
    const run = async () => {
      for await (const event of follow(db, bell, scope, after, stopping.signal, place)) {
        events.push(event);
        seen.add(event.reason ?? '');
        waiting.get(event.reason ?? '')?.();
      }
    };
    run().catch(reject);
  });
  failed.catch(() => {}); // whoever waits learns of it
  later(() => stopping.abort());
  return {
    events,
    looks: () => looks,
    async until(reason) {
      if (!seen.has(reason)) await Promise.race([failed, new Promise<void>((resolve) => waiting.set(reason, resolve))]);
      return events;
    },
    stop: () => stopping.abort(),
  };
}

/** The whole log of a workspace, or of a run, as the table has it. */
export function logOf(db: Db, scope: LogScope): Promise<LifecycleEvent[]> {
  return db.prisma.lifecycleEvent.findMany({ where: { ...scope }, orderBy: { position: 'asc' } });
}

/** The backends of bells that listen, whatever else they do. */
export async function bells(db: Db): Promise<number[]> {
  const { rows } = await db.pool.query<{ pid: number }>(
    `SELECT pid FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'packhorse-bell' AND (query LIKE 'SELECT%' OR (query LIKE 'LISTEN%' AND state = 'idle'))`,
  );
  return rows.map(({ pid }) => pid);
}

/** Something that a test lets pass when it is time. */
export function gate(): { readonly passed: Promise<void>; open(): void } {
  let open = () => {};
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open: () => open() };
}

export const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);
