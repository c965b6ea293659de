// Puts the exports together from the settings: called once a process.
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { sealer } from '../auth/sealed.ts';
import type { Config } from '../config.ts';
import { type Db, openDb } from '../db.ts';
import type { Log } from '../log.ts';
import { allowedHosts } from '../outbound/hosts.ts';
import { createOutbound } from '../outbound/request.ts';
import type { Storage } from '../storage/storage.ts';
import type { Generator } from './generate.ts';
import { signingKey } from './keys.ts';
import type { Exports } from './operations.ts';
import type { ExportTasks } from './tasks.ts';

/** The exports' part of a process: what its API and its background work stand on. */
export interface ExportParts {
  readonly exports: Exports;
  readonly tasks: ExportTasks;
  close(): Promise<void>;
}

export function assembleExports(options: {
  readonly databaseUrl: string;
  readonly config: Config;
  readonly secret: Uint8Array;
  readonly publicUrl: () => string;
  readonly log: Log;
  readonly stop: AbortSignal;
  readonly storage: Storage;
  readonly db: Db;
  readonly announcing: (db: Db) => Db;
}): ExportParts {
  const { databaseUrl, config, secret, publicUrl, log, stop, storage, db, announcing } = options;
  const { exportSlots: slots, leaseMs, heartbeatMs, retryMs } = config;
  // Two datasets of each export at once, and what asks how far they are; the same for those that are generated again to be published.
  const wide = announcing(
    openDb(databaseUrl, { poolSize: slots * 3 + 12, statementTimeoutMs: 0, idleTimeoutMs: Math.max(leaseMs, 5_000) }),
  );
  const links = { secret, publicUrl };
  const hosts = allowedHosts(config.fetchHosts);
  const own = sealer(secret);
  const outbound = createOutbound({ hosts });
  const generator: Generator = { db: wide, databaseUrl, work: config.workDir, key: signingKey(secret) };
  const dispatch = { slots, leaseMs, takeovers: config.maxTakeovers };
  const owner = `${hostname()}:${process.pid}:${randomUUID().slice(0, 8)}`;
  return {
    exports: { db, hosts, sealer: own, links, slots, storage, outbound, pinging: new Set(), stop },
    tasks: {
      runner: { generator, dispatch, heartbeatMs, owner, log },
      publisher: { generator, storage, leaseMs, heartbeatMs, retryMs, attempts: config.publishAttempts, log },
      deliverer: { db, outbound, sealer: own, links, leaseMs, retryMs, log },
      storage,
      queueHours: config.queueHours,
      stop,
    },
    async close() {
      await outbound.close();
      await wide.close();
    },
  };
}
