// A cursor is a position in one workspace's log: opaque to clients, refused when it is another workspace's or was never ours.

export class CursorError extends Error {
  override readonly name = 'CursorError';
  readonly code = 'CURSOR_INVALID';
  constructor() {
    super('This cursor is not one that this log gave out.');
  }
}

/** Something that came after the cursor has been pruned: to go on from it would be to miss that. */
export class CursorExpiredError extends Error {
  override readonly name = 'CursorExpiredError';
  readonly code = 'CURSOR_EXPIRED';
  constructor() {
    super('Events after this cursor are no longer kept. The oldest that are begin after the workspace’s `oldestEventCursor`.');
  }
}

export function encodeCursor(workspaceId: string, position: bigint): string {
  return Buffer.from(`1:${workspaceId}:${position}`).toString('base64url');
}

const form = /^1:[0-9a-f-]{36}:(0|[1-9]\d{0,17})$/;

/** Throws CursorError for a malformed cursor or another workspace's. */
export function decodeCursor(workspaceId: string, cursor: string): bigint {
  const [, digits] = form.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? [];
  // Decoding passes over whatever is not base64url, so what was read is compared as it would have been written.
  if (digits === undefined || encodeCursor(workspaceId, BigInt(digits)) !== cursor) throw new CursorError();
  return BigInt(digits);
}
