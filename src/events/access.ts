// Streams last, so whether their readers may still look is asked all the while: for all of a process by one statement.
import type { Db } from '../db.ts';

export interface AccessWatch {
  /** Calls back soon after the subject’s access to the workspace is taken back, until it is disposed of. */
  watch(subject: string, workspaceId: string, onRevoked: () => void): Disposable;
  /** How many subjects are watched, each workspace of theirs counted; a test of leaks. */
  watching(): number;
}

/** The stream’s reader may no longer look. Only whoever could look before is told, so it gives nothing away. */
export class AccessRevokedError extends Error {
  override readonly name = 'AccessRevokedError';
  readonly code = 'ACCESS_REVOKED';
  constructor() {
    super('Your access to this workspace was revoked.');
  }
}

// A stream must end within five seconds. One statement a second costs less than notices, which may be lost, and nothing while nobody follows.
const lookEveryMs = 1_000;

interface Watched {
  readonly subject: string;
  readonly workspaceId: string;
  readonly told: Set<() => void>;
}

export function accessWatch(db: Db): AccessWatch {
  const watched = new Map<string, Watched>();
  let timer: NodeJS.Timeout | undefined;
  let isLooking = false;

  const look = async () => {
    const pairs = [...watched.values()];
    const revoked = await db.prisma.$queryRaw<{ i: number }[]>`
      SELECT p.i::int AS i FROM unnest(${pairs.map(({ workspaceId }) => workspaceId)}::uuid[], ${pairs.map(({ subject }) => subject)}::text[])
        WITH ORDINALITY AS p(workspace_id, subject, i)
      WHERE EXISTS (SELECT 1 FROM access_revocation r WHERE r.workspace_id = p.workspace_id AND r.subject = p.subject AND r.restored_at IS NULL)`;
    for (const { i } of revoked) for (const tell of pairs[i - 1]?.told ?? []) tell();
  };
  const lookAgain = async () => {
    isLooking = true;
    await look().catch(() => {}); // while the database cannot be asked no stream has anything to give either
    isLooking = false;
    if (watched.size > 0) lookLater();
  };
  const lookLater = () => {
    timer = setTimeout(() => void lookAgain(), lookEveryMs);
  };

  return {
    watch(subject, workspaceId, onRevoked) {
      const key = `${workspaceId} ${subject}`;
      const entry = watched.get(key) ?? { subject, workspaceId, told: new Set() };
      watched.set(key, entry);
      const tell = () => onRevoked();
      entry.told.add(tell);
      if (watched.size === 1 && entry.told.size === 1 && !isLooking) lookLater();
      return {
        [Symbol.dispose]() {
          entry.told.delete(tell);
          if (entry.told.size === 0 && watched.get(key) === entry) watched.delete(key);
          if (watched.size === 0) clearTimeout(timer);
        },
      };
    },
    watching: () => watched.size,
  };
}

/** For a stream that learns only when it is opened of which workspace it is: watched from then on, until it is disposed of. */
export interface LaterWatch {
  readonly of: (workspaceId: string) => void;
  readonly begin: (onRevoked: () => void) => Disposable;
}

export function watchLater(access: AccessWatch, subject: string): LaterWatch {
  let tell = () => {};
  let watching: Disposable | undefined;
  let isOver = false;
  return {
    of(workspaceId) {
      if (!isOver) watching ??= access.watch(subject, workspaceId, () => tell());
    },
    begin(onRevoked) {
      tell = onRevoked;
      return {
        [Symbol.dispose]() {
          isOver = true;
          watching?.[Symbol.dispose]();
        },
      };
    },
  };
}
