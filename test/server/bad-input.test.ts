// What nobody means well with: requests, documents and frames that must be refused in words, by a server that goes on as before.
import { getNamedType, isInterfaceType, isObjectType } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Tenant, tenant } from '../auth/tenants.ts';
import { anyValue, type FieldWithArguments, fieldsWithArguments, schema, textPlaces, withValue } from '../graphql/walk.ts';
import { startApp } from '../support/app.ts';
import { bytes, connected, json, type RawAnswer, rawSocket, send } from './raw.ts';

const app = await startApp({ env: { PACKHORSE_POOL_SIZE: '5' } });
const port = Number(new URL(app.url).port);
const token = await app.token();
const endpoint = `${app.url}/graphql`;
let own: Tenant;
let other: Tenant;
beforeAll(async () => {
  own = await tenant(app, 'own', 'mine');
  other = await tenant(app, 'other', 'CANARY');
});

/** Nothing of ours shows through. */
const internals = /INTERNAL_ERROR|prisma|postgres|SELECT |INSERT |\bat .*\.(ts|js):|node_modules|relation "|SQLSTATE|invocation|stack/i;
const codesOf = (text: string): string[] =>
  (JSON.parse(text).errors ?? []).map((error: { extensions?: { code?: string } }) => error.extensions?.code ?? 'none');

const post = (body: string | Buffer, headers: Record<string, string> = {}): Promise<RawAnswer> =>
  send(endpoint, { method: 'POST', headers: { ...json(token), ...headers } }, body);

async function lives(): Promise<void> {
  const { status, data } = await app.graphql('{ viewer { subject } }');
  expect([status, data]).toEqual([200, { viewer: { subject: 'ann' } }]);
}
afterAll(lives);

describe('requests', () => {
  it('that are no GraphQL over JSON are refused with a 4xx', async () => {
    const good = JSON.stringify({ query: '{ viewer { subject } }' });
    expect((await post(good)).status).toBe(200);
    const bodies: Record<string, string | Buffer> = {
      'no body': '',
      'not JSON': '{"query": "{ viewer { subject } }"',
      'JSON of another kind': '"{ viewer { subject } }"',
      'a number': '7',
      null: 'null',
      'a batch': `[${good},${good}]`,
      'an empty batch': '[]',
      'no query': '{}',
      'query null': '{"query":null}',
      'query a number': '{"query":1}',
      'query a list': '{"query":["{ viewer { subject } }"]}',
      'query an object': '{"query":{"toString":"x"}}',
      'variables a string': '{"query":"{ viewer { subject } }","variables":"x"}',
      'variables a list': '{"query":"{ viewer { subject } }","variables":[1]}',
      'operationName an object': '{"query":"{ viewer { subject } }","operationName":{}}',
      'another field': '{"query":"{ viewer { subject } }","nonsense":1}',
      'NUL bytes': Buffer.alloc(1_000),
      'not UTF-8': Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
      'UTF-16': Buffer.from(good, 'utf16le'),
      'JSON nested 100,000 deep': `{"query":"{ viewer { subject } }","variables":{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`,
      'extensions a string': '{"query":"{ viewer { subject } }","extensions":"x"}',
    };
    for (const [name, body] of Object.entries(bodies)) {
      const { status, text } = await post(body, { accept: 'application/graphql-response+json' });
      if (name === 'JSON nested 100,000 deep') expect([name, status < 500]).toEqual([name, true]);
      else expect([name, status]).toEqual([name, 400]);
      expect(text).not.toMatch(internals);
    }
    await lives();
  });

  it('that hold malformed GraphQL are refused, whatever answer is accepted', async () => {
    const documents = [
      '',
      '{',
      '}',
      '{ }',
      '{ nothing }',
      '{ viewer }',
      '{ viewer { subject { x } } }',
      'query',
      'mutation { }',
      'subscription { viewer { subject } }',
      'query A { viewer { subject } } query A { viewer { subject } }',
      'fragment F on Query { ...F }',
      '{ ...F } fragment F on Query { ...F }',
      '{ ...A } fragment A on Query { ...B } fragment B on Query { ...A }',
      '{ ... on Nothing { x } }',
      '{ viewer { subject @skip } }',
      '{ __schema { nothing } }',
      'query ($a: Nothing) { viewer { subject } }',
      'query ($a: [DataRun]) { viewer { subject } }',
      '{ node(id: {}) { id } }',
      '{ node { id } }',
      '{ node(id: "a", id: "b") { id } }',
      '"""unclosed',
      '{ viewer { subject } } \u0000',
      '\ud800',
      '{ viewer { subject } } schema { query: Query }',
      'type Query { a: Int }',
      '{ workspaces(first: 99999999999) { edges { cursor } } }',
      '{ workspaces(first: "1") { edges { cursor } } }',
      '{ __proto__ }',
      '{ constructor { name } }',
    ];
    for (const query of documents) {
      const { status, text } = await post(JSON.stringify({ query }), { accept: 'application/graphql-response+json' });
      expect([query, status >= 400 && status < 500]).toEqual([query, true]);
      expect(text).not.toMatch(internals);
      const plain = await post(JSON.stringify({ query }));
      expect([query, plain.status < 500, JSON.parse(plain.text).errors.length > 0]).toEqual([query, true, true]);
    }
  });

  it('with another method are 405, with another content type 415', async () => {
    const query = encodeURIComponent('{ viewer { subject } }');
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND']) {
      const answer = await send(`${endpoint}?query=${query}`, { method, headers: { ...json(token), origin: 'http://evil.example' } });
      expect([method, answer.status]).toEqual([method, 405]);
      expect(answer.headers['access-control-allow-origin']).toBeUndefined();
    }
    const body = JSON.stringify({ query: '{ viewer { subject } }' });
    for (const type of [
      'text/plain',
      'text/plain; application/json',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/graphql',
      'application/jsonp',
      'application/json-patch+json',
      'text/json',
      '',
      'json',
      'application/octet-stream',
      'text/html, application/json',
    ])
      expect([type, (await post(body, { 'content-type': type })).status]).toEqual([type, 415]);
    expect((await post(body, { 'content-type': 'application/json; charset=utf-8' })).status).toBe(200);
  });

  it('from another origin get no leave to read the answer', async () => {
    const answer = await post('{"query":"{ viewer { subject } }"}', { origin: 'http://evil.example' });
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  it('for unknown paths are 404 or 405, and for malformed ones 400', async () => {
    for (const path of [
      '/x',
      '/graphql/',
      '/graphql/x',
      '/GRAPHQL',
      '/../../etc/passwd',
      '/%2e%2e/%2e%2e/etc/passwd',
      '/uploads',
      '/%00',
      '/graphiql/x',
      `/${'x'.repeat(8_000)}`,
    ]) {
      const answer = await send(`${app.url}${path}`, { method: 'GET' });
      expect([path.slice(0, 30), answer.status]).toEqual([path.slice(0, 30), 404]);
      expect([path.slice(0, 30), (await send(`${app.url}${path}`, { method: 'POST' })).status]).toEqual([path.slice(0, 30), 405]);
    }
    for (const target of ['//', 'http://', '/\\\\', 'http://[', '*', '//:'])
      expect([target, await bytes(port, `GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`)]).toEqual([
        target,
        expect.stringMatching(/^HTTP\/1.1 (400|404)/),
      ]);
    await lives();
  });

  it('GraphiQL is a page, not a second endpoint without guards', async () => {
    const page = await send(`${app.url}/graphiql?query=${encodeURIComponent('{ lifecycles { name } }')}`, {
      method: 'GET',
      headers: { accept: 'application/json' },
    });
    expect(page.headers['content-type']).toContain('text/html');
    expect(page.text).not.toContain('DataRun');
    const posted = await send(`${app.url}/graphiql`, { method: 'POST', headers: json(token) }, '{"query":"{ lifecycles { name } }"}');
    expect(posted.status).toBe(405);
  });

  it('with floods of headers are refused, and with broken framing too', async () => {
    const flood = Array.from({ length: 5_000 }, (_, index) => `x-${index}: y`).join('\r\n');
    const long = `x: ${'y'.repeat(100_000)}`;
    for (const headers of [
      flood,
      long,
      'content-length: -1',
      'content-length: 1\r\ncontent-length: 2',
      'content-length: 5\r\ntransfer-encoding: chunked',
      'content-length: x',
      'transfer-encoding: nonsense',
      ' folded: x',
      'no colon',
    ])
      expect([headers.slice(0, 40), await bytes(port, `POST /graphql HTTP/1.1\r\nhost: x\r\n${headers}\r\n\r\n`)]).toEqual([
        headers.slice(0, 40),
        expect.stringMatching(/^HTTP\/1.1 4\d\d /),
      ]);
    await lives();
  });
});

describe('bodies that are too large', () => {
  const chunk = Buffer.alloc(65_536, 'x');
  it('are 413 by what they say, and by what they turn out to be, and are not kept', async () => {
    const ten = 10 * 1024 * 1024;
    const stated = await post(Buffer.alloc(ten, ' '));
    expect([stated.status, codesOf(stated.text)]).toEqual([413, ['REQUEST_TOO_LARGE']]);
    // Before a byte of it has come.
    const head = `POST /graphql HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${ten}\r\n\r\n`;
    expect(await bytes(port, head)).toMatch(/^HTTP\/1.1 413 /);
    const before = process.memoryUsage().rss;
    let written = 0;
    const chunked = await send(endpoint, { method: 'POST', headers: json(token) }, async (write) => {
      for (; written < 256 * 1024 * 1024; written += chunk.length) {
        const at = written;
        await write(chunk);
        if (at > ten && written > ten && (await settled(50))) break;
      }
    });
    expect([chunked.status, codesOf(chunked.text)]).toEqual([413, ['REQUEST_TOO_LARGE']]);
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1024 * 1024);
    await lives();
  });
  const settled = (ms: number) => new Promise<boolean>((resolve) => setTimeout(() => resolve(true), ms));

  it('end with the limit and not before', async () => {
    const body = JSON.stringify({ query: '{ viewer { subject } }' });
    const limit = app.config.limits.bodyBytes;
    expect((await post(body.padEnd(limit, ' '))).status).toBe(200);
    expect((await post(body.padEnd(limit + 1, ' '))).status).toBe(413);
    const chunks = async (size: number) =>
      (await send(endpoint, { method: 'POST', headers: json(token) }, async (write) => write(Buffer.from(body.padEnd(size, ' '))))).status;
    expect([await chunks(limit), await chunks(limit + 1)]).toEqual([200, 413]);
  });

  it('of many at once do not stop it from answering others', async () => {
    const floods = Array.from({ length: 20 }, () => post(Buffer.alloc(10 * 1024 * 1024, ' ')));
    await lives();
    expect((await Promise.all(floods)).map(({ status }) => status)).toEqual(floods.map(() => 413));
  });
});

const nested = (levels: number) =>
  `{ workspaces { edges { node ${'{ dataRuns { edges { node { workspace '.repeat(levels)}{ slug }${' } } } }'.repeat(levels)} } } }`;
const fragments = (levels: number) =>
  `{ ...f0 } ${Array.from({ length: levels }, (_, at) => `fragment f${at} on Query { ...f${at + 1} ...f${at + 1} }`).join(' ')} fragment f${levels} on Query { viewer { subject } }`;
const bombs: Record<string, { query: string; variables?: object }> = {
  'deep nesting': { query: nested(20) },
  'deep nesting of introspection': { query: `{ __schema { types ${'{ fields { type '.repeat(15)}{ name }${' } }'.repeat(15)} } }` },
  'inline fragments 400 deep': { query: `${'{ ... on Query '.repeat(300)}{ viewer { subject } }${' }'.repeat(300)}` },
  aliases: { query: `{ ${Array.from({ length: 450 }, (_, at) => `a${at}: __typename`).join(' ')} }` },
  'aliases that cost': {
    query: `{ ${Array.from({ length: 100 }, (_, at) => `a${at}: lifecycles { transitions { action } }`).join(' ')} }`,
  },
  '10,000 aliases': { query: `{ ${Array.from({ length: 10_000 }, (_, at) => `a${at}: __typename`).join(' ')} }` },
  'fragments that double': { query: fragments(60) },
  'cyclic fragments': { query: '{ ...a } fragment a on Query { viewer { subject } ...b } fragment b on Query { ...a }' },
  '50,000 tokens': { query: `{ viewer { ${'subject '.repeat(50_000)} } }` },
  '50,000 brackets': { query: '{'.repeat(50_000) },
  '50,000 list brackets in a value': { query: `{ nodes(ids: ${'['.repeat(25_000)}${']'.repeat(25_000)}) { id } }` },
  'large pages of large pages': {
    query: '{ workspaces(first: 100) { edges { node { dataRuns(first: 100) { edges { node { steps { dataset } } } } } } } }',
  },
  'large pages by variables': {
    query: 'query ($n: Int) { workspaces(first: $n) { edges { node { dataRuns(first: $n) { edges { node { steps { dataset } } } } } } } }',
    variables: { n: 100 },
  },
  'large pages by the variable’s default': {
    query:
      'query ($n: Int = 100) { workspaces(first: $n) { edges { node { dataRuns(first: $n) { edges { node { steps { dataset } } } } } } } }',
  },
  'large last pages': {
    query: '{ workspaces(last: 100) { edges { node { dataRuns(last: 100) { edges { node { steps { dataset } } } } } } } }',
  },
  'many ids': {
    query: 'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on DataRun { steps { dataset } } } }',
    variables: { ids: Array.from({ length: 1_000 }, () => 'x') },
  },
};

describe('documents that ask for too much', () => {
  it('are refused before they are executed, over HTTP', async () => {
    for (const [name, bomb] of Object.entries(bombs)) {
      const started = performance.now();
      const { status, text } = await post(JSON.stringify(bomb));
      const ms = performance.now() - started;
      const codes = status === 413 ? ['REQUEST_TOO_LARGE'] : codesOf(text);
      expect([name, status < 500, JSON.parse(text).data ?? null]).toEqual([name, true, null]);
      expect([name, codes.length > 0, text.length < 20_000, ms < 1_000]).toEqual([name, true, true, true]);
      if (!/introspection|inline|10,000|50,000|cyclic/.test(name)) expect([name, codes]).toEqual([name, ['TOO_COSTLY']]);
    }
  });

  it('and over websocket, where the connection stays good', async () => {
    const socket = await connected(app.url, token);
    for (const [name, bomb] of Object.entries(bombs)) {
      const message = JSON.stringify({ id: name, type: 'subscribe', payload: bomb });
      if (message.length > app.config.limits.socketFrameBytes) continue;
      socket.say(message);
      const answer = await socket.until(({ id }) => id === name);
      expect([name, answer.type, JSON.stringify(answer).length < 20_000]).toEqual([name, 'error', true]);
      const said = answer.payload.flatMap(({ extensions }: { extensions?: object }) => Object.keys(extensions ?? {}));
      expect([name, [...new Set(said)]]).toEqual([name, ['code']]);
    }
    socket.say({ id: 'good', type: 'subscribe', payload: { query: '{ viewer { subject } }' } });
    expect((await socket.until(({ id }) => id === 'good')).payload.data).toEqual({ viewer: { subject: 'ann' } });
    socket.socket.close();
  });

  it('are judged with the variables of each request, not of the first', async () => {
    const query =
      'query ($n: Int) { workspaces(first: $n) { edges { node { id dataRuns(first: $n) { edges { node { steps { dataset } } } } } } } }';
    const ask = async (n: number) => codesOf((await post(JSON.stringify({ query, variables: { n } }))).text);
    expect([await ask(1), await ask(100), await ask(1), await ask(100)]).toEqual([[], ['TOO_COSTLY'], [], ['TOO_COSTLY']]);
    const other = query.replace('id', 'slug');
    const first = JSON.parse((await post(JSON.stringify({ query: other, variables: { n: 100 } }))).text);
    expect([first.errors[0].extensions.code, codesOf((await post(JSON.stringify({ query: other, variables: { n: 1 } }))).text)]).toEqual([
      'TOO_COSTLY',
      [],
    ]);
  });

  it('only the operation that is chosen is judged', async () => {
    const query = `query Small { viewer { subject } } query Large ${bombs['large pages of large pages']?.query}`;
    expect(codesOf((await post(JSON.stringify({ query, operationName: 'Small' }))).text)).toEqual([]);
    expect(codesOf((await post(JSON.stringify({ query, operationName: 'Large' }))).text)).toEqual(['TOO_COSTLY']);
    expect(JSON.parse((await post(JSON.stringify({ query }))).text).data ?? null).toBeNull();
  });
});

describe('websockets', () => {
  it('an oversize frame closes the connection that sent it and no other', async () => {
    const good = await connected(app.url, token);
    const bad = await connected(app.url, token);
    bad.say({ id: '1', type: 'subscribe', payload: { query: `{ viewer { subject } } #${'x'.repeat(1_000_000)}` } });
    expect((await bad.closed).code).toBe(1009);
    good.say({ id: '1', type: 'subscribe', payload: { query: '{ viewer { subject } }' } });
    expect((await good.until(({ id }) => id === '1')).payload.data.viewer.subject).toBe('ann');
    good.socket.close();
  });

  it('frames that are no messages close the connection with a code of the protocol', async () => {
    const cases: [string, string, (code: number) => boolean][] = [
      ['not JSON', '{', (code) => code === 4400],
      ['another type', '{"type":"nonsense"}', (code) => code === 4400],
      ['null', 'null', (code) => code === 4400],
      ['a list', '[]', (code) => code === 4400],
      ['subscribe without id', '{"type":"subscribe","payload":{"query":"{ __typename }"}}', (code) => code === 4400],
      ['id a number', '{"id":1,"type":"subscribe","payload":{"query":"{ __typename }"}}', (code) => code === 4400],
      ['payload a string', '{"id":"1","type":"subscribe","payload":"x"}', (code) => code === 4400],
      ['query a number', '{"id":"1","type":"subscribe","payload":{"query":1}}', (code) => code === 4400],
      ['variables a string', '{"id":"1","type":"subscribe","payload":{"query":"{ __typename }","variables":"x"}}', (code) => code === 4400],
      ['a second init', '{"type":"connection_init"}', (code) => code === 4429],
    ];
    for (const [name, message, expected] of cases) {
      const socket = await connected(app.url, token);
      socket.say(message);
      const { code, reason } = await socket.closed;
      expect([name, code, expected(code)]).toEqual([name, code, true]);
      expect(reason).not.toMatch(internals);
    }
    const binary = await connected(app.url, token);
    binary.socket.send(Buffer.alloc(1_000, 0xff));
    expect((await binary.closed).code).toBe(4400);
    await lives();
  });

  it('the same id twice closes with 4409, an operation before the init with 4401, none at all with 4408', async () => {
    const twice = await connected(app.url, token);
    const subscribe = {
      id: '1',
      type: 'subscribe',
      payload: { query: 'subscription ($id: ID!) { workspaceEvents(workspace: $id) { id } }', variables: { id: own.workspace } },
    };
    twice.say(subscribe);
    twice.say(subscribe);
    const early = await rawSocket(app.url);
    early.say(subscribe);
    const silent = await rawSocket(app.url);
    expect((await Promise.all([twice.closed, early.closed, silent.closed])).map(({ code }) => code)).toEqual([4409, 4401, 4408]);
    await expect.poll(() => app.app.bell.waiting()).toBe(0);
  });

  it('of another subprotocol are refused', async () => {
    const old = await rawSocket(app.url, {}, 'graphql-ws').catch((error: unknown) => String(error));
    expect(typeof old === 'string' ? 4406 : (await old.closed).code).toBe(4406);
  });

  it('carry 20 operations at once, and refuse the others', async () => {
    const socket = await connected(app.url, token);
    const query = 'subscription ($id: ID!, $after: String) { workspaceEvents(workspace: $id, after: $after) { id } }';
    for (let at = 0; at < 25; at++)
      socket.say({ id: `${at}`, type: 'subscribe', payload: { query, variables: { id: own.workspace, after: own.cursor } } });
    const answers = await Promise.all(Array.from({ length: 25 }, (_, at) => socket.until(({ id }) => id === `${at}`)));
    const refused = answers.filter(({ type }) => type === 'error');
    expect(refused.map(({ payload }) => payload[0].extensions.code)).toEqual(Array(5).fill('TOO_MANY_OPERATIONS'));
    // One that ends makes room.
    socket.say({ id: '0', type: 'complete' });
    await expect.poll(() => app.app.bell.waiting()).toBe(19);
    socket.say({ id: 'next', type: 'subscribe', payload: { query: '{ viewer { subject } }' } });
    expect((await socket.until(({ id }) => id === 'next')).type).toBe('next');
    socket.socket.close();
    await expect.poll(() => app.app.bell.waiting()).toBe(0);
  });

  it('are opened by our own pages and by programs, from no other origin and at no other path', async () => {
    const upgrade = (path: string, headers: string) =>
      bytes(
        port,
        `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nsec-websocket-protocol: graphql-transport-ws\r\n${headers}\r\n`,
        300,
      );
    const origins = [
      'null',
      'http://evil.example',
      `http://127.0.0.1:${port}.evil.example`,
      `http://127.0.0.1`,
      `http://127.0.0.1:${port + 1}`,
      `http://localhost:${port}`,
      'file://',
      'https://',
      '',
      'chrome-extension://abc',
      `http://evil.example/127.0.0.1:${port}`,
      `http://evil.example#127.0.0.1:${port}`,
      `127.0.0.1:${port}`,
      '*',
      `http://127.0.0.1:${port}@evil.example`,
      `//127.0.0.1:${port}`,
      'data:text/html,x',
      'http://[::1]',
      'about:blank',
      'javascript:0',
    ];
    for (const origin of origins)
      expect([origin, await upgrade('/graphql', `origin: ${origin}\r\n`)]).toEqual([origin, expect.stringMatching(/^HTTP\/1.1 403 /)]);
    expect(await upgrade('/graphql', `origin: http://127.0.0.1:${port}\r\n`)).toMatch(/^HTTP\/1.1 101 /);
    expect(await upgrade('/graphql', '')).toMatch(/^HTTP\/1.1 101 /);
    for (const path of ['/', '/graphiql', '/uploads/x', '/graphql/x']) expect(await upgrade(path, '')).toMatch(/^HTTP\/1.1 404 /);
    for (const path of ['//', 'http://', '//:'])
      expect([path, await upgrade(path, '')]).toEqual([path, expect.stringMatching(/^HTTP\/1.1 4\d\d /)]);
    await lives();
  });
});

/** The way from a root to a type: a document's beginning, its end, and the variables on the way. */
function wayTo({ owner, field }: FieldWithArguments, what: string): { document: string; variables: Record<string, unknown> } {
  const args = field.args.map(({ name, type }) => `$${name}: ${String(type)}`).join(', ');
  const passed = `(${field.args.map(({ name }) => `${name}: $${name}`).join(', ')})`;
  const type = getNamedType(field.type);
  const selection = isObjectType(type) || isInterfaceType(type) || 'getTypes' in type ? '{ __typename }' : '';
  const call = `it: ${field.name}${passed} ${selection}`;
  switch (owner.name) {
    case 'Query':
    case 'Mutation':
    case 'Subscription':
      return { document: `${owner.name.toLowerCase()} (${args}) { ${call} }`, variables: {} };
    default: {
      const id = { Workspace: own.workspace, DataRun: own.run, Dataset: own.dataset }[owner.name];
      expect(id, `${owner.name}.${what} needs a way to it here`).toBeDefined();
      return {
        document: `query ($__on: ID!, ${args}) { node(id: $__on) { ... on ${owner.name} { ${call} } } }`.replaceAll('$__on', '$on'),
        variables: { on: id },
      };
    }
  }
}

const hostile: Record<string, string> = {
  NUL: 'a\0b',
  'only NUL': '\0',
  'half a surrogate': 'a\ud800b',
  'the other half': '\udfff',
  __proto__: '__proto__',
  constructor: 'constructor',
  empty: '',
  blank: ' \t\r\n ',
  'very long': 'x'.repeat(100_000),
  RTL: 'שלום \u202e gnp.exe',
  emoji: '👩‍👩‍👧‍👦🏳️‍🌈',
  'zero width': '\u200b\ufeff',
  SQL: `'; DROP TABLE data_run; --`,
  percent: '%_\\%',
  path: '../../../../etc/passwd',
  JSON: '{"$gt":""}',
  quotes: '"\'`\\',
  'control characters': '\x01\x02\x1b[31m\x7f',
  UUID: '00000000-0000-0000-0000-000000000000',
  'not base64': '====',
  'base64 of NUL': Buffer.from('DataRun:\0').toString('base64'),
  'base64 of SQL': Buffer.from(`DataRun:' OR 1=1`).toString('base64'),
  'a cursor of nothing': Buffer.from('1:x:y').toString('base64url'),
  'a cursor beyond all': Buffer.from(`1:00000000-0000-0000-0000-000000000000:999999999999999999`).toString('base64url'),
  'JSON in base64': Buffer.from('["\\u0000"]').toString('base64url'),
  'a list in base64': Buffer.from('[1,{}]').toString('base64url'),
  'a date': '2026-02-30T25:61:61Z',
  'a date far off': '+275760-09-13T00:00:00Z',
  'a year without end': '9999-12-31T23:59:59.999999999Z',
  'a date before all': '0000-01-01T00:00:00Z',
};

describe('hostile text', () => {
  const places = fieldsWithArguments.flatMap((at) =>
    at.field.args.flatMap((argument) => textPlaces(argument.type, [argument.name]).map((place) => ({ ...at, place }))),
  );

  it('is looked for in every field that takes text', () => {
    const names = new Set(places.map(({ name }) => name));
    for (const name of [
      'Query.workspace',
      'Query.node',
      'Mutation.createWorkspace',
      'Mutation.registerDataRun',
      'Subscription.workspaceEvents',
      'Workspace.dataRuns',
      'Dataset.rows',
      'DataRun.events',
    ])
      expect(names).toContain(name);
    expect(places.length).toBeGreaterThan(40);
  });

  it.each(places.map((place) => [`${place.name} ${place.place.path.join('.')}`, place] as const))(
    'in %s is answered with words',
    async (_name, { place, ...at }) => {
      const way = wayTo(at, place.path.join('.'));
      const base = Object.fromEntries(at.field.args.map((argument) => [argument.name, anyValue(argument.type)]));
      // Where the others have to be real for this one to be reached.
      const real = withReal(base, at);
      await Promise.all(
        Object.entries(hostile).map(async ([kind, text]) => {
          const variables = { ...(withValue(real, place.path, text) as object), ...way.variables };
          const subscribes = at.owner.name === 'Subscription';
          const response = await fetch(endpoint, {
            method: 'POST',
            headers: { ...json(token), ...(subscribes ? { accept: 'text/event-stream' } : {}) },
            body: JSON.stringify({ query: way.document, variables }),
          });
          const answer = subscribes ? await firstEvent(response) : await response.text();
          expect([kind, response.status < 500]).toEqual([kind, true]);
          expect(answer, kind).not.toMatch(internals);
          expect(answer.length, kind).toBeLessThan(300_000);
        }),
      );
    },
  );

  it('of 10 MB is 413 in any of them', async () => {
    const answer = await post(
      JSON.stringify({ query: 'query ($s: String!) { workspace(slug: $s) { id } }', variables: { s: 'x'.repeat(10_000_000) } }),
    );
    expect(answer.status).toBe(413);
  });

  it('as the whole of the variables changes nothing but the answer', async () => {
    for (const variables of [
      '{"__proto__":{"n":1}}',
      '{"constructor":{"prototype":{"n":1}}}',
      '{"n":{"__proto__":1}}',
      '{"n":1e400}',
      '{"n":-0}',
      '{"n":1.5}',
      '{"n":[1]}',
      '{"n":"1"}',
      '{"n":true}',
    ]) {
      const answer = await post(`{"query":"query ($n: Int) { workspaces(first: $n) { edges { cursor } } }","variables":${variables}}`);
      expect([variables, answer.status < 500]).toEqual([variables, true]);
      expect(answer.text).not.toMatch(internals);
    }
    expect(({} as { n?: number }).n).toBeUndefined();
  });
});

/** Ids that exist, so that the other inputs of the same field are looked at as well. */
function withReal(base: Record<string, unknown>, at: FieldWithArguments): Record<string, unknown> {
  const known: Record<string, string> = { dataRunId: own.run, workspaceId: own.workspace, packageId: own.staged, workspace: own.workspace };
  const fill = (value: unknown): unknown =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(
          Object.entries(value).map(([name, inner]) => [name, inner === 'x' && known[name] !== undefined ? known[name] : fill(inner)]),
        )
      : value;
  const filled = fill(base) as Record<string, unknown>;
  if (at.owner.name === 'Subscription' && filled['id'] === 'x') filled['id'] = own.run;
  return filled;
}

async function firstEvent(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  let text = '';
  while (reader !== undefined && !/data: ?\{|event: complete|"errors"/.test(text)) {
    const read = await Promise.race([reader.read(), new Promise<null>((resolve) => setTimeout(() => resolve(null), 100))]);
    if (read === null || read.done) break;
    text += new TextDecoder().decode(read.value);
  }
  await reader?.cancel();
  return text;
}

describe('pages', () => {
  const lists = fieldsWithArguments.filter(({ field }) => field.args.some(({ name }) => name === 'first'));
  const refusals = ['INVALID_INPUT', 'CURSOR_INVALID'];

  it('are of at most 100, and no number makes a list fail otherwise than in words', async () => {
    expect(lists.map(({ name }) => name).sort()).toEqual([
      'DataRun.events',
      'Dataset.rows',
      'Query.workspaces',
      'Workspace.dataRuns',
      'Workspace.datasets',
      'Workspace.events',
    ]);
    for (const list of lists) {
      const page = async (args: string) => {
        const call = `${list.field.name}(${args}) { edges { cursor } }`;
        const id = { Workspace: own.workspace, DataRun: own.run, Dataset: own.dataset }[list.owner.name];
        const query =
          list.owner === schema.getQueryType() ? `{ it: ${call} }` : `{ node(id: "${id}") { ... on ${list.owner.name} { it: ${call} } } }`;
        const { text, status } = await post(JSON.stringify({ query }));
        expect(text, list.name).not.toMatch(internals);
        expect([list.name, args, status < 500]).toEqual([list.name, args, true]);
        const { data, errors = [] } = JSON.parse(text);
        return {
          codes: errors.map((error: { extensions?: { code: string } }) => error.extensions?.code),
          edges: (data?.it ?? data?.node?.it)?.edges?.length,
        };
      };
      const backward = list.field.args.some(({ name }) => name === 'last');
      const sides = backward ? (['first', 'last'] as const) : (['first'] as const);
      for (const side of sides) {
        expect([list.name, await page(`${side}: -1`)]).toEqual([list.name, { codes: ['INVALID_INPUT'], edges: undefined }]);
        expect([list.name, await page(`${side}: -2147483648`)]).toEqual([list.name, { codes: ['INVALID_INPUT'], edges: undefined }]);
        expect([list.name, await page(`${side}: 0`)]).toEqual([list.name, { codes: [], edges: 0 }]);
        expect((await page(`${side}: 1000`)).codes.filter((code: string) => code !== 'TOO_COSTLY')).toEqual([]);
        expect((await page(`${side}: 2147483647`)).codes.filter((code: string) => code !== 'TOO_COSTLY')).toEqual([]);
        expect((await page(`${side}: 2147483648`)).edges).toBeUndefined();
        expect((await page(`${side}: null`)).codes).toEqual([]);
      }
      if (backward) {
        expect([list.name, (await page('first: 1, last: 1')).codes]).toEqual([list.name, ['INVALID_INPUT']]);
        expect([list.name, (await page('first: 0, last: 100')).codes]).toEqual([list.name, ['INVALID_INPUT']]);
      }
      const cursors = [
        '',
        'x',
        '====',
        '%',
        '\\u0000',
        'é',
        '99999999',
        ...Object.values(other.cursors),
        other.cursor,
        own.workspace,
        Buffer.from('GPC:S:x').toString('base64'),
        Buffer.from('null').toString('base64'),
        Buffer.from('["1","2"]').toString('base64'),
        'A'.repeat(10_000),
      ];
      for (const side of backward ? ['after', 'before'] : ['after']) {
        for (const cursor of cursors) {
          // A row's cursor is its key, which rows of the other dataset have too: it is a place like any other.
          if (list.name === 'Dataset.rows' && cursor === other.cursors.rows) continue;
          const { codes, edges } = await page(`${side}: "${cursor}"`);
          expect([list.name, side, cursor.slice(0, 60), refusals.includes(codes[0]), edges]).toEqual([
            list.name,
            side,
            cursor.slice(0, 60),
            true,
            undefined,
          ]);
        }
      }
    }
  });
});
