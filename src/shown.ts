// What is shown of work: how far it is, what it waits for, and where what it made can be fetched.

export interface Progress {
  readonly done: bigint;
  readonly total: bigint | null;
  readonly totalIsExact: boolean;
  readonly unit: string;
}

/** One unmet condition: what waits, since when, and what would help. */
export interface Hold {
  readonly code: string;
  /** `run`, `export`, or a dataset's name. */
  readonly subject: string;
  readonly message: string;
  readonly since: Date;
  readonly remedy: string;
}

export interface DownloadLink {
  readonly url: string;
  readonly expiresAt: Date;
}
