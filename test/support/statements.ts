// Every statement that a server's own pool sends.
import { afterAll, beforeAll, expect } from 'vitest';
import type { TestApp } from './app.ts';

/** Grows as they are sent; set its length to 0 to begin anew. For the whole file, whose tests must have sent some. */
export function statementsOf(app: TestApp): string[] {
  const statements: string[] = [];
  const { pool } = app.app.db;
  // Each connection's own `query` is what everything of the pool ends in, Prisma's as well.
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    client.query = ((...args: unknown[]) => {
      const [first] = args;
      statements.push(typeof first === 'string' ? first : (first as { text: string }).text);
      return query(...args);
    }) as never;
  });
  // Connections that were open before are closed, so that all that is counted goes through the new ones.
  beforeAll(async () => {
    const held = await Promise.all(Array.from({ length: app.config.poolSize }, () => pool.connect()));
    for (const client of held) client.release(true);
  });
  afterAll(() => expect(statements.length).toBeGreaterThan(0));
  return statements;
}
