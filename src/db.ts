// One Prisma client and one pool a process, and the two ways to write: a transaction, or a single statement that is its own.
import { setTimeout as sleep } from 'node:timers/promises';
import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { Prisma, PrismaClient } from './generated/prisma/client.ts';

export interface Db {
  readonly prisma: PrismaClient;
  /** For COPY and other work that Prisma cannot carry. The same limits and time zone. */
  readonly pool: pg.Pool;
  /** Called after a commit with what it touched: wakes those who follow it. A hint, never the data. */
  announce: (topic: Topic) => void;
  close(): Promise<void>;
}

/** What may have news: a workspace's log, or a run's progress. */
export type Topic = `log:${string}` | `progress:${string}`;

/** The right to write. `touched` is announced after the commit, so nobody is woken for what was rolled back. */
export interface Tx {
  readonly sql: Prisma.TransactionClient;
  readonly touched: Set<Topic>;
}

export interface DbOptions {
  readonly poolSize: number;
  /** Ends a statement that runs longer, in ms; 0 for none. */
  readonly statementTimeoutMs: number;
  /** Ends a transaction whose process says nothing for so long, in ms: stopped, it would hold its locks for ever. */
  readonly idleTimeoutMs?: number;
  /** Rolls back a transaction of Prisma's that lasts longer, in ms; 15 s if not given. */
  readonly transactionTimeoutMs?: number;
}

// Prisma re-plans and re-parses unnamed statements each time. Bounded, because IN lists of every length make ever new ones.
const namedStatements = 500;

function statementNames(): (query: { sql: string }) => string | undefined {
  const names = new Map<string, string>();
  return ({ sql }) => {
    const known = names.get(sql);
    if (known !== undefined) return known;
    if (names.size >= namedStatements) return undefined;
    const name = `packhorse_${names.size}`;
    names.set(sql, name);
    return name;
  };
}

export function openDb(url: string, options: DbOptions): Db {
  // A timestamptz is read wrongly by the adapter unless the session is in UTC.
  // A statement that lasts ends soon after its process, and not with its last row.
  const session = `-c timezone=UTC -c client_connection_check_interval=1000 -c statement_timeout=${options.statementTimeoutMs} -c idle_in_transaction_session_timeout=${options.idleTimeoutMs ?? 30_000}`;
  const pool = new pg.Pool({
    connectionString: url,
    max: options.poolSize,
    options: session,
    connectionTimeoutMillis: 5_000,
    application_name: 'packhorse',
  });
  // An 'error' nobody listens to ends the process. The next query says what is wrong.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  const adapter = new PrismaPg(pool, { statementNameGenerator: statementNames() as never }); // its declared type forgets `undefined`
  const prisma = new PrismaClient({
    adapter,
    errorFormat: 'minimal',
    transactionOptions: { maxWait: 5_000, timeout: options.transactionTimeoutMs ?? 15_000 },
  });
  return {
    prisma,
    pool,
    announce: () => {},
    async close() {
      await prisma.$disconnect();
      if (!pool.ended) await pool.end();
    },
  };
}

interface DriverCause {
  readonly originalCode?: string;
  readonly originalMessage?: string;
  readonly constraint?: { readonly index?: string };
}

export interface PostgresFault {
  readonly code: string;
  readonly constraint: string | undefined;
}

/** SQLSTATE and constraint of whatever Prisma or pg threw; undefined where Postgres did not answer. */
export function postgresFault(error: unknown): PostgresFault | undefined {
  // Prisma wraps the same fault in three ways (P2002 and others, P2010 of raw SQL, a bare DriverAdapterError from COMMIT): only SQLSTATE is alike.
  const wrapped = error as {
    name?: string;
    code?: unknown;
    constraint?: string;
    cause?: DriverCause;
    meta?: { driverAdapterError?: { cause?: DriverCause } };
  };
  if (error instanceof pg.DatabaseError && error.code !== undefined) return { code: error.code, constraint: error.constraint };
  const cause = wrapped?.meta?.driverAdapterError?.cause ?? (wrapped?.name === 'DriverAdapterError' ? wrapped.cause : undefined);
  return cause?.originalCode === undefined ? undefined : { code: cause.originalCode, constraint: cause.constraint?.index };
}

/** SQLSTATEs that say nothing about the work: a connection lost, refused or ended for idling, a deadlock, a lock not had in time. */
const passing = /^(08|57P|25P0[34]|40|53300|55P03)/;

/** A fault of the moment, of Postgres or of the way there: the same work may succeed when it is tried again. */
export function isPassingFault(error: unknown): boolean {
  const code = postgresFault(error)?.code;
  return code === undefined ? isConnectionLoss(error) : passing.test(code);
}

function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  // pg gives most of these no code.
  return (
    /^(ECONN|EPIPE|ETIMEDOUT)/.test(code) ||
    /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Cannot use a pool)|not queryable/.test(
      error.message,
    )
  );
}

export function violates(error: unknown, constraint: string): boolean {
  const fault = postgresFault(error);
  return fault?.code === '23505' && (fault.constraint === undefined || fault.constraint === constraint);
}

const serializationFailure = '40001';
const deadlock = '40P01';

/** Everything `work` writes commits together or not at all. Runs again on a deadlock, so `work` must be safe to repeat. */
export async function inTransaction<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const touched = new Set<Topic>();
    try {
      const result = await db.prisma.$transaction((sql) => work({ sql, touched }));
      for (const topic of touched) db.announce(topic);
      return result;
    } catch (error) {
      const code = postgresFault(error)?.code;
      if (attempt >= 3 || (code !== serializationFailure && code !== deadlock)) throw error;
      await sleep(Math.random() * 10 * 2 ** attempt);
    }
  }
}

/** For work that is one statement, which is its own transaction: one round trip instead of three. */
export async function inStatement<T>(db: Db, work: (tx: Tx) => Promise<T>): Promise<T> {
  const touched = new Set<Topic>();
  const result = await work({ sql: db.prisma, touched });
  for (const topic of touched) db.announce(topic);
  return result;
}

export { Prisma };
