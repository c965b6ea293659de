// The two addresses of signing in by a provider: where the browser begins, and where the provider sends it back to.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import { type Sealer, sealer } from '../auth/sealed.ts';
import { type Refusal, type SignIn, SignInError } from '../auth/sign-in.ts';
import type { Log } from '../log.ts';
import { isPage } from './dashboard.ts';

export interface SignInPages {
  /** Whether the address was one of these. */
  handle(url: URL, request: IncomingMessage, response: ServerResponse): Promise<boolean>;
}

export interface SignInPageOptions {
  /** null: nobody is to be sent anywhere. */
  readonly signIn: SignIn | null;
  readonly secret: Uint8Array;
  readonly publicUrl: () => string;
  readonly log: Log;
}

const begins = '/sign-in';
const returns = '/sign-in/callback';
const cookie = 'packhorse_sign_in';
const context = 'sign-in'; // what is sealed here opens nowhere else
const keptSeconds = 600;

const kept = z.object({ state: z.string(), nonce: z.string(), verifier: z.string(), to: z.string(), until: z.number() });

export function signInPages({ signIn, secret, publicUrl, log }: SignInPageOptions): SignInPages {
  const sealed = sealer(secret);

  async function begin(signing: SignIn, url: URL, response: ServerResponse): Promise<void> {
    const to = pageOf(url.searchParams.get('to'));
    const { url: location, begun } = await signing.begin(publicUrl() + returns);
    const text = JSON.stringify({ ...begun, to, until: Date.now() + keptSeconds * 1_000 });
    redirect(response, location, setCookie(sealed.seal(text, context), keptSeconds));
  }

  async function end(signing: SignIn, url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const begun = begunOf(sealed, request);
    if (begun === null) throw new SignInError('foreign', 'the browser has not begun, or too long ago');
    const token = await signing.end(new URL(publicUrl() + returns + url.search), begun);
    // In the fragment, which browsers send to nobody; the page takes it out of the address at once.
    redirect(response, `${begun.to}#${new URLSearchParams({ token })}`, setCookie('', 0));
  }

  function setCookie(value: string, seconds: number): string {
    const secure = publicUrl().startsWith('https:') ? '; Secure' : '';
    // Lax, since the provider sends the browser back from its own site. Of the callback alone: nobody else needs it.
    return `${cookie}=${value}; Path=${returns}; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`;
  }

  return {
    async handle(url, request, response) {
      if (signIn === null || (url.pathname !== begins && url.pathname !== returns)) return false;
      try {
        await (url.pathname === begins ? begin(signIn, url, response) : end(signIn, url, request, response));
      } catch (error) {
        if (!(error instanceof SignInError)) throw error;
        log.warn({ err: error, refusal: error.refusal }, 'a sign-in was refused');
        redirect(response, `/${refused(error.refusal)}`, setCookie('', 0));
      }
      return true;
    },
  };
}

const refused = (refusal: Refusal) => `#${new URLSearchParams({ refused: refusal })}`;

function redirect(response: ServerResponse, location: string, setCookie: string): void {
  response.writeHead(303, { location, 'set-cookie': setCookie, 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' }).end();
}

function begunOf(sealed: Sealer, { headers }: IncomingMessage): z.output<typeof kept> | null {
  const value = (headers.cookie ?? '')
    .split('; ')
    .find((pair) => pair.startsWith(`${cookie}=`))
    ?.slice(cookie.length + 1);
  const text = value === undefined ? null : sealed.open(value, context);
  if (text === null) return null;
  const begun = kept.parse(JSON.parse(text)); // it was sealed here
  return begun.until > Date.now() ? begun : null;
}

/** One of our own pages: a link to here must not lead a person who trusts it anywhere else. */
function pageOf(to: string | null): string {
  const base = 'http://here';
  if (to === null || !URL.canParse(to, base)) return '/';
  const { origin, pathname, search } = new URL(to, base);
  return origin === base && isPage(pathname) ? pathname + search : '/';
}
