// What a format that Postgres writes by itself has to say: its statement, and what comes before the rows.
import type { DatasetAsOf } from '../../records/as-of.ts';

export type Query = <Row>(text: string) => Promise<Row[]>;

export interface CopyFormat {
  /** For the schema: what stands for null, chosen so that no value of the data is it. Empty where the format has a null of its own. */
  missingValues(query: Query, dataset: DatasetAsOf, snapshot: string): Promise<readonly string[]>;
  /** What `missingValues` most often gives, for beginning with it before they were looked for; null where that is not worth it. */
  guess(dataset: DatasetAsOf): Guess | null;
  /** COPY … TO STDOUT of all rows in order. `unreplaced`: see `replacedSince`. */
  copy(dataset: DatasetAsOf, snapshot: string, missingValues: readonly string[], unreplaced: boolean): string;
  head(dataset: DatasetAsOf): string;
}

export interface Guess {
  readonly missingValues: readonly string[];
  /** Where these bytes are nowhere among the rows, the guess is right; where they are, it has to be looked at. */
  readonly doubt: Buffer;
}
