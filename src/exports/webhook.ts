// Standard Webhooks: one signed message to one receiver, once. When to send it again is the caller's to decide.
import { randomBytes } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { OutboundError } from '../outbound/failure.ts';
import type { Outbound, OutboundAnswer } from '../outbound/request.ts';

export interface WebhookMessage {
  /** The same on every attempt, without a dot. */
  readonly id: string;
  readonly url: string;
  readonly secret: string;
  /** JSON. */
  readonly body: string;
  readonly now: Date;
  readonly signal: AbortSignal;
}

export type WebhookOutcome =
  | { readonly is: 'delivered'; readonly status: number }
  /** The receiver wants no more of them. */
  | { readonly is: 'gone'; readonly status: 410 }
  | {
      readonly is: 'failed';
      /** Of OutboundError, HTTP_<status>, REDIRECT_REFUSED or SECRET_UNUSABLE. */
      readonly code: string;
      readonly status: number | null;
      readonly message: string;
      readonly retryAfterSeconds: number | null;
    };

/** What is told of a message that was sent, or could not be. */
export interface Sent {
  readonly status: number | null;
  /** DELIVERED, GONE, or that of the fault. */
  readonly code: string;
  /** One sentence, for people. */
  readonly message: string;
}

const secretPattern = /^whsec_([A-Za-z0-9+/]+={0,2})$/;

export function newWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

/** In a sentence for whoever gave it, which does not repeat it; null where it can be used. */
export function whySecretIsUnusable(secret: string): string | null {
  const [, text = ''] = secretPattern.exec(secret) ?? [];
  const bytes = Buffer.from(text, 'base64');
  // Node skips what is not base64, and the library throws for it.
  if (bytes.toString('base64') === text && bytes.length >= 24 && bytes.length <= 64) return null;
  return 'The secret must be whsec_ and then 24 to 64 bytes in base64.';
}

/** Rejects only with the signal's reason; whatever the receiver does is an outcome. */
export async function sendWebhook(outbound: Outbound, message: WebhookMessage): Promise<WebhookOutcome> {
  const { id, url, secret, body, now, signal } = message;
  const unusable = whySecretIsUnusable(secret);
  if (unusable !== null) return failed('SECRET_UNUSABLE', unusable);
  const headers = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign(id, now, body),
  };
  try {
    return outcomeOf(await outbound.request(url, { method: 'POST', headers, body, signal }));
  } catch (error) {
    if (error instanceof OutboundError) return failed(error.code, error.message);
    throw error;
  }
}

export function accountOf(outcome: WebhookOutcome): Sent {
  if (outcome.is === 'delivered') return { status: outcome.status, code: 'DELIVERED', message: 'Delivered.' };
  if (outcome.is === 'gone') return { status: outcome.status, code: 'GONE', message: 'The destination wants no more of these.' };
  const { status, code, message } = outcome;
  return { status, code, message };
}

function outcomeOf({ status, retryAfterSeconds }: OutboundAnswer): WebhookOutcome {
  if (status >= 200 && status < 300) return { is: 'delivered', status };
  if (status === 410) return { is: 'gone', status };
  if (status >= 300 && status < 400) {
    return failed('REDIRECT_REFUSED', `The receiver answered ${status}: redirects are not followed.`, status, retryAfterSeconds);
  }
  return failed(`HTTP_${status}`, `The receiver answered ${status}.`, status, retryAfterSeconds);
}

function failed(code: string, message: string, status: number | null = null, retryAfterSeconds: number | null = null): WebhookOutcome {
  return { is: 'failed', code, status, message, retryAfterSeconds };
}
