// What a format that Postgres writes by itself has to say: its statement, and what comes before the rows.
import type { DatasetAsOf } from '../../records/as-of.ts';

export type Query = <Row>(text: string) => Promise<Row[]>;

export interface CopyFormat {
  /** For the schema: what stands for null, chosen so that no value of the data is it. Empty where the format has a null of its own. */
  missingValues(query: Query, dataset: DatasetAsOf, snapshot: string): Promise<readonly string[]>;
  /** COPY … TO STDOUT of all rows in order. */
  copy(dataset: DatasetAsOf, snapshot: string, missingValues: readonly string[]): string;
  head(dataset: DatasetAsOf): string;
}
