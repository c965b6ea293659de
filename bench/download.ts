// A download of 200 MB, each block compared with its digest before it is sent, against a bare server that pipes the same file.
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import path from 'node:path';
import pg from 'pg';
import { linkTo } from '../src/exports/links.ts';
import type { PostgresServer } from '../src/postgres/embedded.ts';
import { alternate, freshDatabase, packhorse, secret, serverProcess } from './support.ts';

const rounds = 5;
const bytes = 200_000_000;
const blockBytes = 1_048_576;

export async function benchDownload(postgres: PostgresServer, home: string): Promise<void> {
  const url = await freshDatabase(postgres, 'bench_download');
  const content = randomBytes(bytes);
  const held = await seedPackage(url, content);
  const file = path.join(home, 'storage', held.key);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
  const ours = await packhorse(url, home);
  const bare = await serverProcess(['--import', 'tsx', 'bench/static-server.ts', file], {});
  const links = { secret: new TextEncoder().encode(secret), publicUrl: () => ours.url };
  const link = linkTo(links, { ...held, linkEpoch: 0, expiresAt: null }, 'bench', 86_400).url;
  try {
    for (const connections of [1, 8]) {
      const [ourRate, bareRate] = [() => downloads(link, connections), () => downloads(bare.url, connections)];
      await ourRate();
      await bareRate(); // warm
      const result = await alternate(rounds, ourRate, bareRate);
      console.log(
        `  ${connections} at once: packhorse ${result.ours.toFixed(0)} MB/s, bare ${result.theirs.toFixed(0)} MB/s: ratio ${(result.ours / result.theirs).toFixed(2)}`,
      );
    }
  } finally {
    await ours.stop();
    await bare.stop();
  }
}

/** The rows of a published package of a workspace `bench`. */
async function seedPackage(url: string, content: Buffer): Promise<{ id: string; workspaceId: string; key: string }> {
  const [id, workspaceId, execution] = [randomUUID(), randomUUID(), randomUUID()];
  const key = `exports/${workspaceId}/${id}/1.zip`;
  const sha256 = (part: Buffer) => createHash('sha256').update(part).digest();
  const blocks = Array.from({ length: Math.ceil(bytes / blockBytes) }, (_, at) =>
    sha256(content.subarray(at * blockBytes, (at + 1) * blockBytes)),
  );
  const client = new pg.Client({ connectionString: url, options: '-c timezone=UTC' });
  await client.connect();
  await client.query(`INSERT INTO workspace (id, slug, name) VALUES ($1, 'bench', 'bench')`, [workspaceId]);
  await client.query(
    `INSERT INTO export_execution (id, workspace_id, requested_by, cutoff, cutoff_snapshot, plan, settings)
     VALUES ($1, $2, 'bench', '2000-01-01T00:00:00.000000Z', pg_current_snapshot()::text, '[]', '{}')`,
    [execution, workspaceId],
  );
  await client.query(`UPDATE export_execution SET state = 'RUNNING', started_at = now() WHERE id = $1`, [execution]);
  await client.query(
    `UPDATE export_execution SET state = 'SUCCEEDED', settled_at = now(), counts = '[]', manifest_digest = 'sha256:0' WHERE id = $1`,
    [execution],
  );
  await client.query(`INSERT INTO export_package (id, execution_id, workspace_id) VALUES ($1, $2, $3)`, [id, execution, workspaceId]);
  await client.query(
    `UPDATE export_package SET state = 'PUBLISHED', storage_key = $2, bytes = $3, digest = $4, blocks = $5, block_bytes = $6, published_at = now(),
     expires_at = now() + interval '1 day' WHERE id = $1`,
    [id, key, bytes, `sha256:${sha256(content).toString('hex')}`, Buffer.concat(blocks), blockBytes],
  );
  await client.end();
  return { id, workspaceId, key };
}

/** MB a second, of so many whole downloads at once. */
async function downloads(url: string, connections: number): Promise<number> {
  const began = performance.now();
  await Promise.all(Array.from({ length: connections }, () => download(url)));
  return (connections * bytes) / 1e6 / ((performance.now() - began) / 1_000);
}

const agent = new Agent({ keepAlive: true });

function download(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, { agent }, (response) => {
      let seen = 0;
      response.on('data', (part: Buffer) => {
        seen += part.length;
      });
      response.on('error', reject);
      response.on('end', () =>
        response.statusCode === 200 && seen === bytes ? resolve() : reject(new Error(`status ${response.statusCode}, ${seen} bytes`)),
      );
    }).on('error', reject);
  });
}
