// A job service: loads datasets for Packhorse into a Postgres of its own. docs/job-targets.md tells how to start it; jobs.mjs keeps its
// jobs, load.mjs loads. Here is the way in: the five calls of the contract, and who may make them.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';
import { createLocalJWKSet, createRemoteJWKSet, jwtVerify } from 'jose';
import pg from 'pg';
import { openJobs } from './jobs.mjs';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '9000' },
    database: { type: 'string' },
    keys: { type: 'string' },
    audience: { type: 'string' },
  },
});
if (values.database === undefined || values.keys === undefined) {
  console.error('usage: node main.mjs --database postgres://… --keys FILE_OR_URL [--port 9000] [--audience TEXT]');
  process.exit(2);
}
const longestBody = 1_048_576;

const pool = new pg.Pool({ connectionString: values.database, max: 8 });
pool.on('error', (error) => console.error(error.message)); // the next query says what is wrong
const keys = /^https?:/.test(values.keys)
  ? createRemoteJWKSet(new URL(values.keys))
  : createLocalJWKSet(JSON.parse(await readFile(values.keys, 'utf8')));
const jobs = await openJobs(pool);

/** Throws with the status to answer. Who `sub` is could be looked at here, to let some people load some datasets only. */
async function letIn(request) {
  const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
  const verified = await jwtVerify(token, keys, { algorithms: ['EdDSA'], audience, requiredClaims: ['sub', 'exp'] }).catch(() => null);
  if (verified === null) throw refusal(401, 'NO_TOKEN', 'A token of Packhorse for this service is needed.');
  if (verified.payload.act?.sub !== 'packhorse-driver') throw refusal(403, 'NOT_THE_DRIVER', 'Only its driver may call.');
}

function refusal(status, code, summary) {
  return Object.assign(new Error(summary), { status, body: { failure: { code, summary, retryable: false } } });
}

async function bodyOf(request) {
  let text = '';
  for await (const part of request.setEncoding('utf8')) {
    text += part;
    if (text.length > longestBody) throw refusal(413, 'TOO_LARGE', 'The submission is too large.');
  }
  return JSON.parse(text);
}

/** Status and job; no job where there is none to tell. */
async function answer(request) {
  await letIn(request);
  const url = new URL(request.url, 'http://localhost');
  const key = url.searchParams.get('idempotencyKey');
  const route = `${request.method} ${url.pathname}`;
  const told = (job, status = 200) => (job === null ? [404] : [status, job]);
  if (route === 'POST /jobs') {
    const given = request.headers['idempotency-key'];
    if (given === undefined) throw refusal(422, 'NO_KEY', 'A submission carries an Idempotency-Key.');
    const submission = await bodyOf(request);
    const { format } = submission.dataset;
    if (format !== 'csv') throw refusal(422, 'FORMAT_NOT_SUPPORTED', `This service loads CSV, and no ${format}.`);
    const { job, isNew } = await jobs.submit(given, submission);
    return [isNew ? 201 : 200, job];
  }
  if (route === 'GET /jobs' && key !== null) return told(await jobs.find('key', key));
  if (route === 'POST /jobs/cancel' && key !== null) return [202, await jobs.cancelByKey(key)];
  const [, id, verb] = /^\/jobs\/([^/]+)(\/cancel)?$/.exec(url.pathname) ?? [];
  if (id !== undefined && request.method === 'GET' && verb === undefined) return told(await jobs.find('id', decodeURIComponent(id)));
  if (id !== undefined && request.method === 'POST' && verb !== undefined) return told(await jobs.cancel(decodeURIComponent(id)), 202);
  return [404];
}

const server = createServer((request, response) => {
  answer(request)
    .catch((error) => {
      if (error.status === undefined) console.error(error);
      return [error.status ?? 500, error.body];
    })
    .then(([status, body]) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(body === undefined ? '' : JSON.stringify(body));
    });
});
server.listen(Number(values.port), '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const address = `http://127.0.0.1:${server.address().port}`;
const audience = values.audience ?? address;
await jobs.goOn();
console.log(address);

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    server.close();
    server.closeAllConnections();
    await jobs.close(); // what has not ended begins again with the next start
    await pool.end();
  });
}
