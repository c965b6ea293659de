// The kit's own data: a server that gives a service what it is told to load, and can make it wait.
import { createHash, randomUUID } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Materials } from './check.ts';
import type { WireSubmission } from './wire.ts';

export interface ServedMaterials extends Materials {
  close(): Promise<void>;
}

const dialect = {
  delimiter: ',',
  quoteChar: '"',
  doubleQuote: true,
  escapeChar: null,
  header: true,
  skipInitialSpace: false,
  commentChar: null,
};
const id = { name: 'id', type: 'integer' };
const label = { name: 'label', type: 'string' };
const heldRows = 2_000;

interface Served {
  readonly bytes: Buffer;
  reads: number;
  /** Null where it is not held, or was released. */
  waiting: Set<ServerResponse> | null;
}

/** `host`: where the service reaches this machine. */
export async function serveMaterials(host: string, listenAt: string): Promise<ServedMaterials> {
  const files = new Map<string, Served>();
  const server = createServer((request, response) => {
    const file = files.get(/^\/data\/([\w-]+)$/.exec(request.url ?? '')?.[1] ?? '');
    if (request.method !== 'GET' || file === undefined) {
      response.writeHead(request.url?.startsWith('/callback') === true ? 202 : 404).end();
      return;
    }
    file.reads++;
    response.writeHead(200, { 'content-type': 'text/csv', 'content-length': file.bytes.length });
    if (file.waiting === null) return void response.end(file.bytes);
    response.write(file.bytes.subarray(0, half(file)));
    file.waiting.add(response);
  });
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(0, listenAt, resolve));
  const origin = `http://${host}:${(server.address() as AddressInfo).port}`; // listening on a port, so that it has one

  function submission(name: string, text: string, schema: object, held = false): WireSubmission {
    const bytes = Buffer.from(text);
    const file = randomUUID();
    files.set(file, { bytes, reads: 0, waiting: held ? new Set() : null });
    return {
      contract: '1',
      workspaceId: randomUUID(),
      runId: randomUUID(),
      stepId: randomUUID(),
      attempt: 1,
      onInvalidRow: 'FAIL',
      onMissingReference: 'BLOCK',
      dataset: {
        name,
        format: 'csv',
        gzip: false,
        dialect,
        schema,
        bytes: bytes.length,
        hash: `sha256:${createHash('sha256').update(bytes).digest('hex')}`,
      },
      data: { url: `${origin}/data/${file}`, expiresAt: new Date(Date.now() + 3_600_000).toISOString() },
      callbackUrl: `${origin}/callback/${file}`,
    };
  }
  const fileOf = ({ data }: WireSubmission) => files.get(data.url.slice(data.url.lastIndexOf('/') + 1));

  return {
    plain: async () =>
      submission('kit-plain', `id,label\n${'abcdefg'.replace(/./g, (letter, at) => `${at + 1},${letter}\n`)}`, {
        fields: [id, label],
        primaryKey: ['id'],
      }),
    async held() {
      const rows = Array.from({ length: heldRows }, (_, n) => `${n + 1},row ${n + 1}\n`).join('');
      const made = submission('kit-held', `id,label\n${rows}`, { fields: [id, label], primaryKey: ['id'] }, true);
      const release = async () => {
        const file = fileOf(made);
        for (const response of file?.waiting ?? []) response.end(file?.bytes.subarray(half(file)));
        if (file !== undefined) file.waiting = null;
      };
      return { submission: made, release };
    },
    async orphans() {
      const reference = { resource: 'kit-parents', fields: ['id'] };
      const schema = {
        fields: [id, { name: 'parent', type: 'integer' }],
        primaryKey: ['id'],
        foreignKeys: [{ fields: ['parent'], reference }],
      };
      return submission('kit-children', 'id,parent\n1,1\n2,2\n3,3\n', schema);
    },
    reads: (made) => fileOf(made)?.reads ?? 0,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function half({ bytes }: Served): number {
  return bytes.length >> 1;
}
