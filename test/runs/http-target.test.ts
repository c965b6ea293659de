// The HTTP target against a real service that behaves, and against one that does not.
import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose';
import { afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { callTokens } from '../../src/auth/call-token.ts';
import type { RemoteTarget } from '../../src/config-targets.ts';
import { httpTarget } from '../../src/runs/targets/http.ts';
import { type Answer, ask, deadlineIn, type Submission } from '../../src/runs/targets/target.ts';
import { type CallName, type HttpChild, httpChild } from '../support/http-child.ts';
import { worthless } from './http-answers.ts';

const secret = new TextEncoder().encode('a secret of at least thirty-two bytes');
const links = { secret, publicUrl: () => 'http://127.0.0.1:4000' };
const tokens = callTokens(secret, 'packhorse');
const caller = { subject: 'ann' };
const never = () => new AbortController().signal;

function target(child: Pick<HttpChild, 'url'>, more: Partial<RemoteTarget> = {}, probeMs = 60_000) {
  const remote = { name: 'crm', baseUrl: child.url, idempotency: 'key', maxConcurrent: 4, timeoutMs: 2_000, ...more } as const;
  const made = httpTarget(remote, { tokens, links, probeMs });
  onTestFinished(() => made.close());
  return made;
}

async function serving(): Promise<HttpChild> {
  const child = await httpChild();
  onTestFinished(() => child.close());
  return child;
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
const submission = (key = 'ph:run:0:1'): Submission => ({
  key,
  runId: '0192a8c4-6b2f-7a11-8e4d-1d6e7f8a9b0c',
  stepId: '0192a8c4-6b30-7c22-9f5e-2e7f8a9b0c1d',
  attempt: 1,
  workspaceId: '0192a8c4-5c1e-7e0c-9d2f-0c5f6a1b2c3d',
  packageId: '0192a8c4-5c1e-7e0c-9d2f-0c5f6a1b2c3e',
  dataset: {
    name: 'first',
    position: 0,
    target: 'crm',
    dependsOn: [],
    source: { kind: 'entry', path: 'first.csv' },
    format: 'csv',
    gzip: false,
    dialect,
    schema: null,
    statedSchema: { fields: [{ name: 'id' }] },
    bytes: 5,
    hash: 'sha256:00',
  },
  onInvalidRow: 'FAIL',
  onMissingReference: 'BLOCK',
  subject: 'ann',
  submittedAt: new Date('2026-01-01T00:00:00.000Z'),
});

const calls: Record<CallName, (made: ReturnType<typeof target>, signal: AbortSignal) => Promise<Answer>> = {
  submit: (made, signal) => made.submit(submission(), signal),
  read: (made, signal) => made.read('job-1', caller, signal),
  find: (made, signal) => made.find('ph:run:0:1', caller, signal),
  cancel: (made, signal) => made.cancel('job-1', caller, signal),
  cancelByKey: (made, signal) => made.cancelByKey('ph:run:0:1', caller, signal),
};
const names = Object.keys(calls) as CallName[];
const good: Record<CallName, number> = { submit: 201, read: 200, find: 200, cancel: 202, cancelByKey: 202 };

describe('with a service that keeps the contract', () => {
  it('submits, reads, finds and cancels, and says what there is not', async () => {
    const child = await serving();
    const made = target(child);
    expect(await made.find('ph:run:0:1', caller, never())).toEqual({ is: 'none' });
    expect(await made.read('job-1', caller, never())).toEqual({ is: 'none' });
    expect(await made.cancel('job-1', caller, never())).toEqual({ is: 'none' });
    expect(await made.submit(submission(), never())).toMatchObject({ is: 'job', report: { id: 'job-1', state: 'running' } });
    expect(await made.submit(submission(), never())).toMatchObject({ report: { id: 'job-1' } });
    expect(await made.find('ph:run:0:1', caller, never())).toMatchObject({ report: { id: 'job-1' } });
    child.end('first', 'failed', {
      failure: { code: 'DISK_FULL', summary: 'No room.' },
      progress: { done: 3, total: 5, unit: 'bytes' },
    });
    expect(await made.read('job-1', caller, never())).toMatchObject({
      report: {
        state: 'failed',
        failure: { code: 'DISK_FULL', origin: 'target', phase: 'running', retryable: false },
        progress: { done: 3n, total: 5n, unit: 'bytes' },
      },
    });
    expect(await made.cancel('job-1', caller, never())).toMatchObject({ report: { state: 'failed' } });
    expect(await made.cancelByKey('another', caller, never())).toEqual({ is: 'none' });
    expect(await made.submit(submission('another'), never())).toMatchObject({ report: { state: 'cancelled' } });
    expect(child.jobs).toHaveLength(2);
  });

  it('sends a submission that is the same to the last byte each time', async () => {
    const child = await serving();
    for (let times = 0; times < 2; times++) await target(child).submit(submission(), never());
    const [first, second] = child.calls.map(({ body }) => body);
    expect(second).toBe(first);
    expect(JSON.parse(first ?? '')).toMatchObject({
      contract: '1',
      dataset: { name: 'first', schema: { fields: [{ name: 'id' }] } },
      data: { expiresAt: '2026-01-08T00:00:00.000Z' },
    });
  });

  it('makes a token for each call that holds for five minutes at most, for this target alone', async () => {
    const child = await serving();
    const made = target(child, { audience: 'crm.example' });
    for (const name of names) await calls[name](made, never());
    expect(new Set(child.calls.map(({ token }) => decodeJwt(token).jti)).size).toBe(3); // one for the key, one for each call by id
    for (const { token, key } of child.calls) {
      const { sub, act, aud, jti, iss, iat = 0, exp = 0 } = decodeJwt(token);
      expect({ sub, act, aud, iss }).toEqual({ sub: 'ann', act: { sub: 'packhorse-driver' }, aud: 'crm.example', iss: 'packhorse' });
      expect(jti === key || key === null).toBe(true);
      expect(exp - iat).toBeLessThanOrEqual(300);
    }
    const keys = createLocalJWKSet(tokens.publicKeys as Parameters<typeof createLocalJWKSet>[0]);
    const [{ token } = { token: '' }] = child.calls;
    expect((await jwtVerify(token, keys, { audience: 'crm.example' })).payload.sub).toBe('ann');
    await expect(jwtVerify(token, keys, { audience: child.url })).rejects.toThrow();
    const others = createLocalJWKSet(callTokens(new Uint8Array(32), 'packhorse').publicKeys as Parameters<typeof createLocalJWKSet>[0]);
    await expect(jwtVerify(token, others, { audience: 'crm.example' })).rejects.toThrow();
  });

  it.each([401, 403])('takes %i for a refusal of authority, and 404 of a cancel by key for none', async (status) => {
    const child = await serving();
    child.misbehave = ({ send }) => {
      send({ status, body: null });
      return true;
    };
    for (const name of names) expect((await calls[name](target(child), never())).is, name).toBe('forbidden');
    child.misbehave = ({ send }) => {
      send({ status: 404, body: null });
      return true;
    };
    for (const name of names)
      expect((await calls[name](target(child), never())).is, name).toBe(name === 'cancelByKey' ? 'unknown' : 'none');
  });

  it.each([409, 422])('takes %i with a failure for a refusal of a submission, and of nothing else', async (status) => {
    const child = await serving();
    child.misbehave = ({ send }) => {
      send({ status, body: { failure: { code: 'DATASET_UNKNOWN', summary: 'No.' } } });
      return true;
    };
    expect(await calls.submit(target(child), never())).toEqual({
      is: 'refused',
      failure: { code: 'DATASET_UNKNOWN', summary: 'No.', origin: 'target', phase: 'submitting', retryable: false },
    });
    for (const name of names.filter((one) => one !== 'submit'))
      expect((await calls[name](target(child), never())).is, name).toBe('unknown');
  });
});

describe('with a service that does not', () => {
  let child: HttpChild;
  beforeAll(async () => {
    child = await httpChild();
    return () => child.close();
  });
  afterEach(() => {
    child.misbehave = null;
  });

  it('knows more than forty ways of being worth nothing', () => {
    expect(Object.keys(worthless).length).toBeGreaterThan(40);
  });

  it.each(Object.entries(worthless))('takes %s for no answer, whatever was asked', async (_name, give) => {
    child.misbehave = ({ name, response }) => {
      give({ response, good: good[name], job: { id: 'job-1', state: 'running' } });
      return true;
    };
    const answers = await Promise.all(
      names.map(async (name) => {
        const made = target(child, { timeoutMs: 200 });
        return [name, await calls[name](made, AbortSignal.timeout(2_000))] as const;
      }),
    );
    for (const [name, answer] of answers) {
      expect(answer.is, name).toBe('unknown');
      expect(JSON.stringify(answer).length, name).toBeLessThan(1_000);
    }
  });

  it('takes an answer about another job for none', async () => {
    child.misbehave = ({ send }) => {
      send({ status: 200, body: { id: 'job-2', state: 'succeeded' } });
      return true;
    };
    expect((await calls.read(target(child), never())).is).toBe('unknown');
    expect((await calls.cancel(target(child), never())).is).toBe('unknown');
    child.misbehave = ({ send }) => {
      send({ status: 200, body: { id: 'job-1', state: 'running', idempotencyKey: 'of somebody else' } });
      return true;
    };
    expect((await calls.submit(target(child), never())).is).toBe('unknown');
    expect((await calls.find(target(child), never())).is).toBe('unknown');
  });

  it('holds no more of a body than it may have', async () => {
    let written = 0;
    child.misbehave = ({ response }) => {
      response.writeHead(200).write('{"id":"job-1","state":"running"}'); // whole, but for what follows
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(1_048_576, 0x20))) written++;
      };
      response.on('drain', more);
      more();
      return true;
    };
    expect((await calls.read(target(child, { timeoutMs: 10_000 }), never())).is).toBe('unknown');
    // In blocks of 1 MiB; what the sockets hold is the system's.
    expect(written).toBeLessThan(64);
  });
});

describe('tries again', () => {
  const faults = async (idempotency: RemoteTarget['idempotency'], name: CallName): Promise<number> => {
    const child = await serving();
    let left = 2;
    child.misbehave = ({ honest, response }) => {
      honest();
      if (left-- <= 0) return false;
      response.writeHead(500).end();
      return true;
    };
    await calls[name](target(child, { idempotency }), never());
    return child.calls.filter((call) => call.name === name).length;
  };

  it.each(names)('what is safe: %s', async (name) => {
    expect(await faults('key', name)).toBe(3);
  });

  it.each(['lookup', 'none'] as const)('no submission to a target that goes by %s, which may have it', async (idempotency) => {
    expect(await faults(idempotency, 'submit')).toBe(1);
    expect(await faults(idempotency, 'read')).toBe(3);
  });

  it('whatever is known not to have arrived, and says so where it never did', async () => {
    const child = await serving();
    await child.goDown();
    expect((await calls.submit(target(child, { idempotency: 'none' }), never())).is).toBe('unsent');
    expect(child.connections()).toBe(0);
  });
});

describe('leaves a target alone', () => {
  it('after five faults in a row, until one call has found it well', async () => {
    const child = await serving();
    const made = target(child, {}, 300);
    child.misbehave = ({ response }) => {
      response.writeHead(500).end();
      return true;
    };
    for (let n = 0; n < 20; n++) await calls.read(made, never());
    expect(child.calls.length).toBe(5);
    expect((await calls.submit(made, never())).is).toBe('unsent');
    child.misbehave = null;
    await expect.poll(async () => (await calls.submit(made, never())).is).toBe('job');
  });

  it('for as long as it asked', async () => {
    const child = await serving();
    const made = target(child);
    child.misbehave = ({ response }) => {
      response.writeHead(429, { 'retry-after': '1' }).end();
      return true;
    };
    expect((await calls.submit(made, never())).is).toBe('unsent');
    child.misbehave = null;
    for (let n = 0; n < 10; n++) expect((await calls.submit(made, never())).is).toBe('unsent');
    expect(child.calls).toHaveLength(1);
    await expect.poll(async () => (await calls.submit(made, never())).is).toBe('job');
  });

  it('with more calls at once than it takes; the rest has not gone out at its deadline', async () => {
    const child = await serving();
    const made = target(child, { maxConcurrent: 2, idempotency: 'none' });
    let open = 0;
    let most = 0;
    child.misbehave = ({ request }) => {
      most = Math.max(most, ++open);
      request.socket.once('close', () => open--);
      return true;
    };
    using deadline = deadlineIn(500);
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask((signal) => calls.submit(made, signal), deadline)));
    expect(most).toBe(2);
    expect(answers.filter(({ is }) => is === 'unknown')).toHaveLength(2);
    expect(answers.filter(({ is }) => is === 'unsent')).toHaveLength(8);
  });
});
