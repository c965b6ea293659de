// A part in Parquet: one look over the rows for the types that hold them exactly, then the thread that writes.

import type { Db } from '../../db.ts';
import { fromAsOf, selectAsOf, textOf } from '../../records/as-of.ts';
import { keepPart, onConnection, type PartRecord, type PartRequest } from '../part.ts';
import { writeParquet } from './parquet.ts';
import { chooseTypes, parquetStatistics } from './parquet-types.ts';

export async function writeParquetPart(
  { db, databaseUrl }: { readonly db: Db; readonly databaseUrl: string },
  request: PartRequest,
): Promise<PartRecord> {
  const { dataset, snapshot, place, signal } = request;
  signal.throwIfAborted();
  const columns = dataset.columns.map(({ name, type }) => ({ name, type, required: request.required.has(name) }));
  const statistics = parquetStatistics(dataset.columns.map(({ column, type }) => ({ column: `t.${column}`, type })));
  const { rows } = await onConnection(db.pool, signal, (client) =>
    client.query<{ parquet_statistics: (string | null)[] }>(`SELECT ${statistics} ${fromAsOf(dataset, snapshot)}`),
  );
  const written = await writeParquet({
    databaseUrl,
    sql: selectAsOf(dataset, snapshot, dataset.columns.map(textOf)),
    columns,
    physical: chooseTypes(columns, rows[0]?.parquet_statistics ?? []),
    file: place.draft,
    signal,
    progress: (count, bytes) => request.progress(bytes, count),
  });
  const record: PartRecord = {
    dataset: request.name,
    ...written,
    compressedBytes: written.bytes,
    compressedSha256: written.sha256,
    method: 0, // compressed inside
    missingValues: [],
  };
  await keepPart(place, record);
  return record;
}
