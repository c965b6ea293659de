// What commands get from the process. main.ts makes it; nothing else looks at the process itself.
import type { Readable } from 'node:stream';

export interface Surroundings {
  readonly env: NodeJS.ProcessEnv;
  /** What was asked for: stdout. */
  readonly out: (line: string) => void;
  /** What is said beside it: stderr. */
  readonly note: (line: string) => void;
  /** Whether a person watches stderr, where bars are drawn. */
  readonly isTerminal: boolean;
  /** The code that the process ends with. */
  readonly finish: (code: number) => void;
  /** A folder made into a zip. */
  readonly pack: (folder: string) => Promise<Readable>;
}
