// A driver adapter for the schema engine alone: one connection (so that its advisory lock and its
// transactions mean something), scripts sent whole, and the catalog's "char" columns understood.
import {
  type ColumnType,
  DriverAdapterError,
  type SqlDriverAdapter,
  type SqlMigrationAwareDriverAdapterFactory,
  type SqlQuery,
  ColumnTypeEnum as T,
} from '@prisma/driver-adapter-utils';
import pg from 'pg';

const byOid: Record<number, ColumnType> = {
  16: T.Boolean,
  17: T.Bytes,
  18: T.Character,
  19: T.Text,
  20: T.Int64,
  21: T.Int32,
  23: T.Int32,
  25: T.Text,
  26: T.Int64,
  114: T.Json,
  3802: T.Json,
  700: T.Float,
  701: T.Double,
  1042: T.Text,
  1043: T.Text,
  1114: T.DateTime,
  1184: T.DateTime,
  1700: T.Numeric,
  2950: T.Uuid,
  1000: T.BooleanArray,
  1002: T.CharacterArray,
  1003: T.TextArray,
  1009: T.TextArray,
  1015: T.TextArray,
  1005: T.Int32Array,
  1007: T.Int32Array,
  1016: T.Int64Array,
  1028: T.Int64Array,
};

class Adapter implements SqlDriverAdapter {
  readonly provider = 'postgres';
  readonly adapterName = '@prisma/adapter-pg';
  constructor(
    private readonly client: pg.Client,
    private readonly after?: () => Promise<void>,
  ) {}
  private run<R>(p: Promise<R>): Promise<R> {
    // The engine shows only a DriverAdapterError's text; anything else becomes "External error id#0".
    return p.catch((e) => {
      throw new DriverAdapterError({
        kind: 'postgres',
        code: e.code ?? 'N/A',
        severity: e.severity ?? 'N/A',
        message: e.message,
        detail: e.detail,
        column: e.column,
        hint: e.hint,
      });
    });
  }
  async queryRaw({ sql, args }: SqlQuery) {
    const r = await this.run(this.client.query({ text: sql, values: args, rowMode: 'array' }));
    return {
      columnNames: r.fields.map((f) => f.name),
      columnTypes: r.fields.map((f) => byOid[f.dataTypeID] ?? T.Text),
      rows: r.rows.map((row: unknown[]) => row.map((v) => (v instanceof Date ? v.toISOString() : v))),
    };
  }
  async executeRaw({ sql, args }: SqlQuery) {
    return (await this.run(this.client.query({ text: sql, values: args }))).rowCount ?? 0;
  }
  /** One simple-protocol message: Postgres splits it itself and runs it as one implicit transaction. */
  async executeScript(script: string) {
    await this.run(this.client.query(script));
  }
  async startTransaction(): Promise<never> {
    throw new Error('the schema engine starts no transactions');
  }
  getConnectionInfo() {
    return { schemaName: 'public', supportsRelationJoins: true };
  }
  async dispose() {
    await this.client.end();
    await this.after?.();
  }
}

export function migrationAdapter(url: string): SqlMigrationAwareDriverAdapterFactory {
  const open = async (connectionString: string, after?: () => Promise<void>) => {
    const client = new pg.Client({ connectionString, options: '-c timezone=UTC' });
    client.on('error', () => {}); // an 'error' with no listener would end the process
    await client.connect();
    return new Adapter(client, after);
  };
  return {
    provider: 'postgres',
    adapterName: '@prisma/adapter-pg',
    connect: () => open(url),
    async connectToShadowDb() {
      const name = `shadow_${process.pid}_${Date.now()}`;
      const admin = new pg.Client({ connectionString: url });
      await admin.connect();
      await admin.query(`CREATE DATABASE "${name}"`);
      const shadow = new URL(url);
      shadow.pathname = name;
      return open(shadow.href, async () => {
        await admin.query(`DROP DATABASE "${name}" WITH (FORCE)`);
        await admin.end();
      });
    },
  };
}
