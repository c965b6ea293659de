// GraphiQL: a page and nothing else. As an endpoint it would answer operations that no limit and no token guards.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { pageHeaders } from './page-headers.ts';

/**
 * Runs in the page. The dashboard keeps its token in this tab’s sessionStorage, under the same name: nothing of it is in an address or in what
 * the server writes. Both names, or headers of an earlier visit would be taken instead.
 */
const ofSession = `(() => {
  const token = sessionStorage.getItem('packhorse.token');
  if (token === null) return {};
  const headers = JSON.stringify({ Authorization: 'Bearer ' + token }, null, 2);
  return { headers, initialHeaders: headers };
})()`;

// The editor is one inline script whose workers are blobs. What it holds may go to this server only.
const headers = pageHeaders([
  "script-src 'unsafe-inline' blob:",
  'worker-src blob:',
  "style-src 'unsafe-inline'",
  "img-src 'self' data:",
  'font-src data:',
]);

export function graphiql(endpoint: string): (request: IncomingMessage, response: ServerResponse) => Promise<void> {
  let page: Promise<string> | undefined;
  return async (request, response) => {
    page ??= made(endpoint);
    const html = await page;
    response.writeHead(200, headers).end(request.method === 'HEAD' ? undefined : html);
  };
}

async function made(endpoint: string): Promise<string> {
  // Nine megabytes, which would cost every start a sixth of its processor time, and every process 40 MiB: for whoever looks at it first.
  const { renderGraphiQL } = await import('@graphql-yoga/render-graphiql');
  const options = {
    endpoint,
    subscriptionsProtocol: 'SSE', // its sockets send no header
    method: 'POST',
    title: 'Packhorse',
    shouldPersistHeaders: false, // in localStorage a token would outlive its tab
  } as const;
  const html = renderGraphiQL(options);
  const stated = JSON.stringify(options);
  const at = html.lastIndexOf(stated);
  if (at < 0) throw new Error('GraphiQL’s page does not have its options in it as JSON any more');
  return `${html.slice(0, at)}Object.assign(${stated}, ${ofSession})${html.slice(at + stated.length)}`;
}
