// What the exports' background tasks do, and the reaper, which finds the same work without any task having been enqueued.
import { readdir } from 'node:fs/promises';
import type { TaskList } from 'graphile-worker';
import { inTransaction } from '../db.ts';
import type { Storage } from '../storage/storage.ts';
import { enqueue, implement } from '../tasks/task.ts';
import { type Deliverer, deliver, dueDeliveries } from './deliveries.ts';
import { expireQueued, hasWork } from './dispatcher.ts';
import { each } from './each.ts';
import { removeWork } from './generate.ts';
import { duePublications, type Publisher, publish } from './publish.ts';
import { deleteOrphans, expirePackages } from './retention.ts';
import { type Runner, runNext } from './runner.ts';
import { deliverExport, dispatchExports, publishExport, wakeDispatcher } from './wake.ts';

export interface ExportTasks {
  readonly runner: Runner;
  readonly publisher: Publisher;
  readonly deliverer: Deliverer;
  readonly storage: Storage;
  readonly queueHours: number;
  readonly stop: AbortSignal;
}

/**
 * One execution after the other, until there is none or no slot. Its archive is stored by the process that has it on its disk, and the next
 * is begun meanwhile: a storage that is slow must not keep the slots empty.
 */
async function dispatch({ runner, publisher, stop }: ExportTasks): Promise<void> {
  const storing: Promise<void>[] = [];
  for (;;) {
    const ran = await runNext(runner, stop);
    if (ran === null) break;
    if (ran.succeeded) storing.push(publish(publisher, ran.executionId, stop));
  }
  await Promise.all(storing);
}

export function exportTaskList(tasks: ExportTasks): TaskList {
  return Object.fromEntries([
    implement(dispatchExports, () => dispatch(tasks)),
    implement(publishExport, ({ executionId }) => publish(tasks.publisher, executionId, tasks.stop)),
    implement(deliverExport, ({ deliveryId }) => deliver(tasks.deliverer, deliveryId, tasks.stop)),
  ]);
}

/** Whatever is due and has no live lease. Safe in every process at once. */
export async function reapExports(tasks: ExportTasks): Promise<void> {
  const { db } = tasks.runner.generator;
  const looks = [
    () => expireQueued(db, tasks.queueHours),
    async () => {
      if (await hasWork(db, tasks.runner.dispatch)) await inTransaction(db, wakeDispatcher);
    },
    async () => {
      for (const executionId of await duePublications(db))
        await enqueue(db.prisma, publishExport, { executionId }, { jobKey: `publish:${executionId}` });
    },
    async () => {
      for (const deliveryId of await dueDeliveries(db))
        await enqueue(db.prisma, deliverExport, { deliveryId }, { jobKey: `deliver:${deliveryId}` });
    },
  ];
  await each(looks, (look) => look());
}

/** Housekeeping: what has expired, what nobody owns in storage, and what is left in this machine's work folder. */
export async function tidyExports({ runner, storage }: ExportTasks): Promise<void> {
  const { db } = runner.generator;
  const chores = [() => expirePackages(db, storage), () => deleteOrphans(db, storage), () => sweepWork(runner)];
  await each(chores, (chore) => chore());
}

/** Folders of executions that neither run nor wait to be stored: left by a process that was killed. */
async function sweepWork({ generator }: Runner): Promise<void> {
  const names = await readdir(generator.work).catch(() => []);
  const ids = names.filter((name) => /^[0-9a-f-]{36}$/.test(name));
  if (ids.length === 0) return;
  const wanted = await generator.db.prisma.$queryRaw<{ id: string }[]>`
    SELECT e.id::text AS id FROM export_execution e WHERE e.id = ANY (${ids}::uuid[])
      AND (e.state IN ('QUEUED', 'RUNNING') OR (e.state = 'SUCCEEDED' AND (
        NOT EXISTS (SELECT 1 FROM export_package p WHERE p.execution_id = e.id) OR EXISTS (SELECT 1 FROM export_package p WHERE p.execution_id = e.id AND p.state = 'PENDING'))))`;
  const kept = new Set(wanted.map(({ id }) => id));
  for (const id of ids) if (!kept.has(id)) await removeWork(generator, id);
}
