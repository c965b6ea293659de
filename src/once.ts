// Idempotency keys: the same key gives the first result again, the same key with other input is a conflict. Only successes are kept.
import { createHash } from 'node:crypto';
import { type Db, inTransaction, type Tx } from './db.ts';
import { ConflictError, InvalidInputError } from './errors.ts';

export interface OnceKey {
  readonly workspaceId: string;
  /** Who asked. */
  readonly subject: string;
  readonly mutation: string;
  readonly key: string | null | undefined;
  /** All that the mutation was asked with, key aside. */
  readonly input: unknown;
}

const keptHours = 24;
const maxKeyLength = 200;

/** `work` and the record of its result commit together. `work` returns the id of what it made or changed. */
export async function once(db: Db, key: OnceKey, work: (tx: Tx) => Promise<string>): Promise<string> {
  return inTransaction(db, async (tx) => {
    const before = await begin(tx, key);
    if (before !== null) return before;
    const resultId = await work(tx);
    if (isGiven(key)) {
      await tx.sql.$executeRaw`UPDATE idempotency_key SET result_id = ${resultId}::uuid
        WHERE workspace_id = ${key.workspaceId}::uuid AND subject = ${key.subject} AND mutation = ${key.mutation} AND key = ${key.key}`;
    }
    return resultId;
  });
}

function isGiven(key: OnceKey): key is OnceKey & { key: string } {
  return key.key !== null && key.key !== undefined;
}

function hashOf(input: unknown): string {
  return createHash('sha256').update(JSON.stringify(input)).digest('hex');
}

/** The result of an earlier success, without writing anything: lets a replay skip costly preparation. Throws where the input differs. */
export async function priorResult(db: Db, key: OnceKey): Promise<string | null> {
  if (!isGiven(key)) return null;
  checkKey(key.key);
  const [found] = await db.prisma.$queryRaw<{ inputHash: string; resultId: string | null }[]>`
    SELECT input_hash AS "inputHash", result_id AS "resultId" FROM idempotency_key
    WHERE workspace_id = ${key.workspaceId}::uuid AND subject = ${key.subject} AND mutation = ${key.mutation} AND key = ${key.key} AND expires_at > clock_timestamp()`;
  return found === undefined ? null : sameInput(found, key);
}

/** Claims the key. One that another transaction holds makes this one wait for its outcome, so two at once have one effect. */
async function begin(tx: Tx, key: OnceKey): Promise<string | null> {
  if (!isGiven(key)) return null;
  checkKey(key.key);
  const hash = hashOf(key.input);
  const claimed = await tx.sql.$executeRaw`
    INSERT INTO idempotency_key AS k (workspace_id, subject, mutation, key, input_hash, expires_at)
    VALUES (${key.workspaceId}::uuid, ${key.subject}, ${key.mutation}, ${key.key}, ${hash}, clock_timestamp() + make_interval(hours => ${keptHours}))
    ON CONFLICT (workspace_id, subject, mutation, key) DO UPDATE SET input_hash = EXCLUDED.input_hash, result_id = NULL, expires_at = EXCLUDED.expires_at
      WHERE k.expires_at <= clock_timestamp()`;
  if (claimed === 1) return null;
  const [found] = await tx.sql.$queryRaw<{ inputHash: string; resultId: string | null }[]>`
    SELECT input_hash AS "inputHash", result_id AS "resultId" FROM idempotency_key
    WHERE workspace_id = ${key.workspaceId}::uuid AND subject = ${key.subject} AND mutation = ${key.mutation} AND key = ${key.key}`;
  if (found === undefined) throw new Error('an idempotency key vanished while it was held');
  return sameInput(found, key);
}

function sameInput(found: { inputHash: string; resultId: string | null }, key: OnceKey): string | null {
  if (found.inputHash === hashOf(key.input)) return found.resultId;
  throw new ConflictError('IDEMPOTENCY_KEY_REUSED', 'This idempotency key was used with other input. Use a new key for a new request.');
}

function checkKey(key: string): void {
  if (key.length === 0 || key.length > maxKeyLength) {
    throw new InvalidInputError('idempotencyKey', `An idempotency key has 1 to ${maxKeyLength} characters.`);
  }
}

/** Forgets keys past their time; a key that comes again is new then anyway. */
export async function forgetExpiredKeys(db: Db): Promise<number> {
  return db.prisma.$executeRaw`DELETE FROM idempotency_key WHERE expires_at < clock_timestamp()`;
}
