// Text that Postgres or JSON cannot hold, and page arguments that mean nothing, in every place of the schema that takes them.
import { getNamedType, isInterfaceType, isObjectType } from 'graphql';
import { describe, expect, it } from 'vitest';
import { anyValue, type FieldWithArguments, fieldsWithArguments, schema, textPlaces, withValue } from '../graphql/walk.ts';
import { json } from './raw.ts';
import { internals, surface } from './surface.ts';

const { token, endpoint, own, other, post } = await surface();

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
      const id = idsByType()[owner.name];
      expect(id, `${owner.name}.${what} needs a way to it here`).toBeDefined();
      return {
        document: `query ($__on: ID!, ${args}) { node(id: $__on) { ... on ${owner.name} { ${call} } } }`.replaceAll('$__on', '$on'),
        variables: { on: id },
      };
    }
  }
}

/** A thing of each type that has fields with arguments. */
const idsByType = (): Record<string, string> => ({
  Workspace: own().workspace,
  DataRun: own().run,
  Dataset: own().dataset,
  ExportExecution: own().execution,
});

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
      'Mutation.updateExportSettings',
      'Mutation.cancelExportExecution',
      'ExportExecution.events',
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
  const known: Record<string, string> = {
    dataRunId: at.field.name === 'resetDataRun' ? own().waiting : own().run, // what was loaded is looked at by other tests
    dataRunStepId: own().step,
    workspaceId: own().workspace,
    packageId: own().staged,
    workspace: own().workspace,
    exportExecutionId: own().execution,
    exportPackageId: own().exportPackage,
    exportDeliveryId: own().delivery,
  };
  const fill = (value: unknown): unknown =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(
          Object.entries(value).map(([name, inner]) => [name, inner === 'x' && known[name] !== undefined ? known[name] : fill(inner)]),
        )
      : value;
  const filled = fill(base) as Record<string, unknown>;
  if (at.owner.name === 'Subscription' && filled['id'] === 'x')
    filled['id'] = at.field.name.startsWith('export') ? own().execution : own().run;
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
      'ExportExecution.events',
      'Query.workspaces',
      'Workspace.dataRuns',
      'Workspace.datasets',
      'Workspace.events',
      'Workspace.exportExecutions',
    ]);
    for (const list of lists) {
      const page = async (args: string) => {
        const call = `${list.field.name}(${args}) { edges { cursor } }`;
        const id = idsByType()[list.owner.name];
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
        ...Object.values(other().cursors),
        other().cursor,
        own().workspace,
        Buffer.from('GPC:S:x').toString('base64'),
        Buffer.from('null').toString('base64'),
        Buffer.from('["1","2"]').toString('base64'),
        'A'.repeat(10_000),
      ];
      for (const side of backward ? ['after', 'before'] : ['after']) {
        for (const cursor of cursors) {
          // A row's cursor is its key, which rows of the other dataset have too: it is a place like any other.
          if (list.name === 'Dataset.rows' && cursor === other().cursors.rows) continue;
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
