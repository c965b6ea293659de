// CSV as Postgres' COPY writes it: RFC 4180 quoting, UTF-8, a line feed after each record.
import { type DatasetAsOf, fromAsOf, selectAsOf, textOf } from '../../records/as-of.ts';
import { csvCell } from '../../records/csv-cell.ts';
import { literal } from '../../records/table.ts';
import type { CopyFormat, Query } from './format.ts';

export const csv: CopyFormat = {
  async missingValues(query, dataset, snapshot) {
    return [await nullMarker(query, dataset, snapshot)];
  },
  // An empty text is written as two quotes while null is the empty cell. They also stand in texts with quotes in them.
  guess: ({ columns }) => (columns.length > 1 ? { missingValues: [''], doubt: Buffer.from('""') } : null),
  copy(dataset, snapshot, [marker = ''], unreplaced) {
    const select = selectAsOf(dataset, snapshot, dataset.columns.map(textOf), unreplaced);
    return `COPY (${select}) TO STDOUT WITH (FORMAT csv, NULL ${literal(marker)}, ENCODING 'UTF8')`;
  },
  // Written here: a column's alias would end at 63 bytes.
  head: ({ columns }) => `${columns.map(({ name }) => csvCell(name)).join(',')}\n`,
};

/**
 * Null is the empty cell unless a text of the data is empty, or the only column's: a reader may pass over an empty line. Then it is NULL,
 * or NULL1 … where a text says that. It depends on the data alone.
 */
async function nullMarker(query: Query, dataset: DatasetAsOf, snapshot: string): Promise<string> {
  const texts = dataset.columns.filter(({ type }) => type === 'string' || type === 'any');
  const occurs = async (text: string) => {
    if (texts.length === 0) return false;
    const equal = texts.map(({ column }) => `t.${column} = ${literal(text)}`).join(' OR ');
    return (
      (await query<{ found: boolean }>(`SELECT EXISTS (SELECT 1 ${fromAsOf(dataset, snapshot)} AND (${equal})) AS found`))[0]?.found ??
      false
    );
  };
  if (dataset.columns.length > 1 && !(await occurs(''))) return '';
  for (let number = 0; ; number++) {
    const marker = number === 0 ? 'NULL' : `NULL${number}`;
    if (!(await occurs(marker))) return marker;
  }
}
