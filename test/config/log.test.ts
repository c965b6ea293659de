import { describe, expect, it } from 'vitest';
import { createLog } from '../../src/log.ts';

function logged(fields: Record<string, unknown>): string {
  const lines: string[] = [];
  createLog({ logLevel: 'info' }, { write: (line) => lines.push(line) }).info(fields, 'happened');
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0]!)).toMatchObject({ msg: 'happened' });
  return lines[0]!;
}

describe('the log', () => {
  it.each([
    { token: 'hush' },
    { deep: { down: [{ accessToken: 'hush' }] } },
    { headers: { authorization: 'Bearer hush' } },
    { headers: { Authorization: ['Bearer hush'] } },
    { jwtSecret: 'hu"sh\\' },
    { password: 'hush' },
    { url: '/uploads/1?signature=hush' },
    { link: 'https://example.org/files/1?signature=hush' },
    { err: new Error('cannot reach postgresql://me:hush@host/db') },
    { err: new Error('GET https://example.org/a?token=hush failed') },
    { note: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJodXNoIn0.hush' },
  ])('keeps what opens doors out of $0 %j', (fields) => {
    expect(logged(fields)).not.toMatch(/hu(\\"|")?sh|eyJ/);
  });

  it('keeps the rest', () => {
    const line = logged({ runId: 'r1', maxTokens: 1_500, url: '/graphql', err: new Error('plain: nothing?') });
    expect(JSON.parse(line)).toMatchObject({ runId: 'r1', maxTokens: 1_500, url: '/graphql', err: { message: 'plain: nothing?' } });
  });
});
