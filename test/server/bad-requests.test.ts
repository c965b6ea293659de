import { describe, expect, it } from 'vitest';
import { bytes, connected, json, send } from './raw.ts';
import { codesOf, internals, surface } from './surface.ts';

const { app, port, token, endpoint, post, lives } = await surface();

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
      const { status, text } = await post(JSON.stringify(bomb));
      const codes = status === 413 ? ['REQUEST_TOO_LARGE'] : codesOf(text);
      expect([name, status < 500, JSON.parse(text).data ?? null]).toEqual([name, true, null]);
      expect([name, codes.length > 0, text.length < 20_000]).toEqual([name, true, true]);
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

it('variables that do not fit are refused with a code', async () => {
  const query = 'query ($id: ID!, $first: Int) { dataRun(id: $id) { events(first: $first) { pageInfo { hasNextPage } } } }';
  for (const variables of [{}, { id: 'x', first: 'many' }, { id: 'x', first: 2 ** 40 }]) {
    const { text } = await post(JSON.stringify({ query, variables }));
    expect(codesOf(text)).toEqual(['BAD_USER_INPUT']);
  }
});
