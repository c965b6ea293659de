// Why a call to somebody else's server came to nothing.

export type OutboundCode =
  /** Not called: the list does not have the host, or its name leads to an address that it must not lead to. */
  | 'ADDRESS_NOT_ALLOWED'
  /** Nothing was sent: no such name, nobody listens, no connection in time, or a certificate that does not hold. */
  | 'CONNECT_FAILED'
  /** It was sent, and there was no whole answer in time. */
  | 'TIMEOUT'
  /** It was sent, and the answer was cut off or is not HTTP. */
  | 'BROKEN_ANSWER';

/** Whether it was received is known for the first two codes only. The message names the host and never the path, which may hold a secret. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly code: OutboundCode;
  constructor(code: OutboundCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** What the system or the client library calls it, such as ECONNREFUSED. */
export function reasonOf(error: unknown): string {
  if (error instanceof TypeError && error.cause !== undefined) return reasonOf(error.cause); // fetch's own, around the real one
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error ? String(error.code) : error.name;
}
