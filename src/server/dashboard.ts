// The dashboard as it was built: one page for all of its addresses, and the files that the page names, whose names change with their content.
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import sirv from 'sirv';
import { pageHeaders } from './page-headers.ts';

/** Whether it was the dashboard’s to answer. */
export type Dashboard = (pathname: string, request: IncomingMessage, response: ServerResponse) => boolean;

const built = path.resolve(import.meta.dirname, '../../dist/dashboard'); // the same from src/ and from dist/
const assets = '/assets/';
const pages = /^\/(workspaces(\/.*)?|lifecycles)?$/;

export function isPage(pathname: string): boolean {
  return pages.test(pathname);
}

/** `signIn`: whether people may sign in by a provider, which the page offers then. */
export function dashboard({ signIn }: { readonly signIn: boolean }): Dashboard {
  const index = path.join(built, 'index.html');
  if (!existsSync(index)) return notBuilt;
  const html = readFileSync(index, 'utf8').replace('SIGN_IN', signIn ? 'provider' : 'token');
  const files = sirv(built, { gzip: true, etag: false, immutable: true, maxAge: 31_536_000, setHeaders: asTheyAre });
  return (pathname, request, response) => {
    if (pathname.startsWith(assets)) {
      files(request, response, () => void response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('not found\n'));
      return true;
    }
    if (!isPage(pathname)) return false;
    const nonce = randomBytes(18).toString('base64');
    response.writeHead(200, headers(nonce)).end(request.method === 'HEAD' ? undefined : html.replaceAll('CSP_NONCE', nonce));
    return true;
  };
}

/** As where the sources run, or only `tsc` did. */
const notBuilt: Dashboard = (pathname, _, response) => {
  if (!isPage(pathname)) return false;
  response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('The dashboard is not built: npm run build\n');
  return true;
};

function asTheyAre(response: ServerResponse): void {
  response.setHeader('x-content-type-options', 'nosniff');
}

function headers(nonce: string): Record<string, string> {
  const own = [`script-src 'self' 'nonce-${nonce}'`, `style-src 'self' 'nonce-${nonce}'`, "img-src 'self' data:", "font-src 'self'"];
  return { ...pageHeaders(own), 'cache-control': 'no-store' }; // it names the files of this build, and its nonce holds once
}
