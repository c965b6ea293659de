// A service as the conformance kit sees it: the five calls, made once each and taken at their word.
import { mostAnswerBytes, type Said, saidBy } from './answer.ts';
import type { WireSubmission } from './wire.ts';

/** `asked`: a 202 that does not tell how the job stands. */
export type CancelSaid = Said | { readonly is: 'asked' };

export interface Service {
  submit(key: string, submission: WireSubmission): Promise<Said>;
  read(id: string): Promise<Said>;
  find(key: string): Promise<Said>;
  cancel(id: string): Promise<CancelSaid>;
  cancelByKey(key: string): Promise<CancelSaid>;
}

export interface HttpServiceOptions {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  /** For one call; null: none is sent. */
  readonly token: ((id: string) => Promise<string>) | null;
  readonly timeoutMs: number;
}

export function httpService({ baseUrl, token, timeoutMs }: HttpServiceOptions): Service {
  const call = async (method: string, path: string, id: string, headers: Record<string, string> = {}, body: string | null = null) => {
    const authorization: Record<string, string> = token === null ? {} : { authorization: `Bearer ${await token(id)}` };
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(`${baseUrl}/jobs${path}`, {
      method,
      headers: { ...headers, ...authorization },
      body,
      signal,
      redirect: 'manual',
    });
    return { status: response.status, body: await beginning(response) };
  };
  /** Without an answer there is one that counts for nothing. */
  const said = async (made: Promise<{ status: number; body: string }>, meaning: (answer: { status: number; body: string }) => Said) => {
    try {
      return meaning(await made);
    } catch (error) {
      const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : '';
      return { is: 'unknown', message: `${error instanceof Error ? error.message : String(error)}${cause}` } as const;
    }
  };
  const cancelled = async (made: Promise<{ status: number; body: string }>, about: { id?: string; key?: string }): Promise<CancelSaid> => {
    let silent = false;
    const answer = await said(made, (given) => {
      silent = given.status === 202 && given.body.trim() === '';
      return saidBy(given, { ...about, good: [200, 202] });
    });
    return silent ? { is: 'asked' } : answer;
  };
  const byKey = (key: string) => `?idempotencyKey=${encodeURIComponent(key)}`;
  const byId = (id: string) => `/${encodeURIComponent(id)}`;
  return {
    submit(key, submission) {
      const headers = { 'content-type': 'application/json', 'idempotency-key': key };
      return said(call('POST', '', key, headers, JSON.stringify(submission)), (answer) =>
        saidBy(answer, { key, good: [200, 201], mayRefuse: true }),
      );
    },
    read: (id) => said(call('GET', byId(id), id), (answer) => saidBy(answer, { id, good: [200] })),
    find: (key) => said(call('GET', byKey(key), key), (answer) => saidBy(answer, { key, good: [200] })),
    cancel: (id) => cancelled(call('POST', `${byId(id)}/cancel`, id), { id }),
    cancelByKey: (key) => cancelled(call('POST', `/cancel${byKey(key)}`, key), { key }),
  };
}

/** One byte more than an answer may have, so that a longer one is seen to be. */
async function beginning({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const part of body ?? []) {
    text += decoder.decode(part, { stream: true });
    if (text.length > mostAnswerBytes) break;
  }
  return text;
}
