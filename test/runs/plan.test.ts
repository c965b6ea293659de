// What a plan says is what the run then does: order, counts, violations; and nothing is written by saying it.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import { registered } from '../support/states.ts';
import { createWorkspace, type Resource } from '../support/story.ts';
import { keepsItsWord, loaded } from './planning.ts';

const app = await startApp();

type FieldSpec = readonly [name: string, type: string, constraints?: object];
const of = (name: string, rows: string, fields: readonly FieldSpec[], more: object = {}): Resource => ({
  name,
  rows,
  schema: { fields: fields.map(([field, type, constraints = {}]) => ({ name: field, type, constraints })), ...more },
});
const keyed = (name: string, rows: string, more: object = {}) =>
  of(
    name,
    rows,
    [
      ['id', 'integer'],
      ['word', 'string'],
    ],
    { primaryKey: 'id', ...more },
  );
const refers = (resource: string, fields = 'parent', target = 'id') => ({
  foreignKeys: [{ fields, reference: { resource, fields: target } }],
});
const children = (rows: string, parents = 'parents', target = 'id') =>
  of(
    'children',
    rows,
    [
      ['id', 'integer'],
      ['parent', target === 'id' ? 'integer' : 'string'],
    ],
    {
      primaryKey: 'id',
      ...refers(parents, 'parent', target),
    },
  );

interface Case {
  readonly before?: readonly (readonly Resource[])[];
  readonly resources: readonly Resource[];
  readonly onMissingReference?: 'BLOCK' | 'FAIL';
  /** By dataset: state and what stands in its account. */
  readonly says: Readonly<Record<string, readonly [state: string, account: Record<string, number>]>>;
  readonly blockers?: readonly string[];
  readonly invalid?: Readonly<Record<string, number>>;
}

const parents = keyed('parents', 'id,word\n1,a\n2,b\n');
const cases: Readonly<Record<string, Case>> = {
  'a fresh package, children listed before their parents': {
    resources: [children('id,parent\n1,1\n2,2\n3,1\n'), parents],
    says: { children: ['SUCCEEDED', { source: 3, loaded: 3 }], parents: ['SUCCEEDED', { source: 2, loaded: 2 }] },
  },
  'a package that is there as it is': {
    before: [[children('id,parent\n1,1\n2,2\n'), parents]],
    resources: [children('id,parent\n1,1\n2,2\n'), parents],
    says: { children: ['SUCCEEDED', { source: 2, unchanged: 2 }], parents: ['SUCCEEDED', { source: 2, unchanged: 2 }] },
  },
  'rows that are new, changed, and as they were, and children of the new ones': {
    before: [[children('id,parent\n1,1\n'), parents]],
    resources: [children('id,parent\n1,2\n2,3\n'), keyed('parents', 'id,word\n2,other\n3,c\n1,a\n')],
    says: {
      children: ['SUCCEEDED', { source: 2, loaded: 1, updated: 1 }],
      parents: ['SUCCEEDED', { source: 3, loaded: 1, updated: 1, unchanged: 1 }],
    },
  },
  'a parent that is there already, and not in the file': {
    before: [[parents]],
    resources: [children('id,parent\n1,2\n'), keyed('parents', 'id,word\n1,a\n')],
    says: { children: ['SUCCEEDED', { source: 1, loaded: 1 }], parents: ['SUCCEEDED', { source: 1, unchanged: 1 }] },
  },
  'a value that is referred to and that the same package changes': {
    before: [[parents]],
    resources: [children('id,parent\n1,b\n2,a\n', 'parents', 'word'), keyed('parents', 'id,word\n2,c\n')],
    says: { children: ['BLOCKED', { source: 2, loaded: 1, blocked: 1 }], parents: ['SUCCEEDED', { source: 1, updated: 1 }] },
    blockers: ['MISSING_REFERENCE children'],
  },
  'missing references that are held back, and what depends on them': {
    resources: [
      parents,
      children('id,parent\n1,1\n2,7\n3,8\n'),
      of(
        'grandchildren',
        'id,child\nx,1\n',
        [
          ['id', 'string'],
          ['child', 'integer'],
        ],
        { primaryKey: 'id', ...refers('children', 'child') },
      ),
    ],
    says: {
      parents: ['SUCCEEDED', { source: 2, loaded: 2 }],
      children: ['BLOCKED', { source: 3, loaded: 1, blocked: 2 }],
      grandchildren: ['BLOCKED', {}],
    },
    blockers: ['MISSING_REFERENCE children', 'DEPENDENCY_BLOCKED grandchildren'],
  },
  'missing references that fail': {
    resources: [parents, children('id,parent\n1,1\n2,7\n3,8\n')],
    onMissingReference: 'FAIL',
    says: { parents: ['SUCCEEDED', { source: 2, loaded: 2 }], children: ['FAILED', { source: 3, rejected: 2, unprocessed: 1 }] },
    blockers: ['DATASET_FAILED children'],
    invalid: { children: 2 },
  },
  'references to the dataset itself, down a chain that loses its end': {
    before: [
      [
        of(
          'tree',
          'id,parent\n9,\n',
          [
            ['id', 'integer'],
            ['parent', 'integer'],
          ],
          { primaryKey: 'id', ...refers('tree') },
        ),
      ],
    ],
    resources: [
      of(
        'tree',
        'id,parent\n1,2\n2,3\n3,4\n5,6\n6,5\n7,9\n',
        [
          ['id', 'integer'],
          ['parent', 'integer'],
        ],
        {
          primaryKey: 'id',
          ...refers('tree'),
        },
      ),
    ],
    says: { tree: ['BLOCKED', { source: 6, loaded: 3, blocked: 3 }] },
    blockers: ['MISSING_REFERENCE tree'],
  },
  'invalid rows, and what would have come after them': {
    resources: [
      of(
        'parents',
        'id,word\n1,a\nx,b\n3,\n',
        [
          ['id', 'integer'],
          ['word', 'string', { required: true }],
        ],
        { primaryKey: 'id' },
      ),
      children('id,parent\n1,1\ny,1\n'),
    ],
    says: { parents: ['FAILED', { source: 3, rejected: 2, unprocessed: 1 }], children: ['SKIPPED', {}] },
    blockers: ['DATASET_FAILED parents', 'DATASET_NOT_LOADED children'],
    invalid: { parents: 2, children: 1 },
  },
  'a key twice in a file for an empty dataset': {
    resources: [keyed('parents', 'id,word\n1,a\n1,b\n2,c\n')],
    says: { parents: ['FAILED', { source: 3, rejected: 1, unprocessed: 2 }] },
    blockers: ['DATASET_FAILED parents'],
    invalid: { parents: 1 },
  },
  'a key twice in a file for a dataset with rows': {
    before: [[parents]],
    resources: [keyed('parents', 'id,word\n1,a\n1,b\n')],
    says: { parents: ['FAILED', { source: 2, rejected: 1, unprocessed: 1 }] },
    blockers: ['DATASET_FAILED parents'],
    invalid: { parents: 1 },
  },
  'a unique value that a row which stays has': {
    before: [
      [
        of(
          'parents',
          'id,word\n1,a\n2,b\n',
          [
            ['id', 'integer'],
            ['word', 'string', { unique: true }],
          ],
          { primaryKey: 'id' },
        ),
      ],
    ],
    resources: [
      of(
        'parents',
        'id,word\n3,b\n',
        [
          ['id', 'integer'],
          ['word', 'string', { unique: true }],
        ],
        { primaryKey: 'id' },
      ),
    ],
    says: { parents: ['FAILED', { source: 1, rejected: 1 }] },
    blockers: ['DATASET_FAILED parents'],
    invalid: { parents: 1 },
  },
  'a key that is too long for an index': {
    resources: [
      of('long', `id\n${Array.from({ length: 4_000 }, (_, n) => (n * 7_919).toString(36)).join('')}\n`, [['id', 'string']], {
        primaryKey: 'id',
      }),
    ],
    says: { long: ['FAILED', { source: 1, unprocessed: 1 }] },
    blockers: ['DATASET_FAILED long'],
  },
  'a schema that does not go with the rows that are there': {
    before: [[parents]],
    resources: [
      of(
        'parents',
        'id,word\n1,5\n',
        [
          ['id', 'integer'],
          ['word', 'integer'],
        ],
        { primaryKey: 'id' },
      ),
    ],
    says: { parents: ['FAILED', { source: 1, unprocessed: 1 }] },
    blockers: ['DATASET_FAILED parents'],
  },
  'a unique key stated for the first time, over rows that break it': {
    before: [[keyed('parents', 'id,word\n1,a\n2,a\n')]],
    resources: [keyed('parents', 'id,word\n3,c\n', { uniqueKeys: [['word']] })],
    says: { parents: ['FAILED', { source: 1, unprocessed: 1 }] },
    blockers: ['DATASET_FAILED parents'],
  },
  'a unique key stated for the first time, over rows that keep it': {
    before: [[parents]],
    resources: [keyed('parents', 'id,word\n3,c\n2,b\n', { uniqueKeys: [['word']] })],
    says: { parents: ['SUCCEEDED', { source: 2, loaded: 1, unchanged: 1 }] },
  },
  'a field more than before, and one less': {
    before: [
      [
        of(
          'parents',
          'id,word,old\n1,a,x\n2,b,\n',
          [
            ['id', 'integer'],
            ['word', 'string'],
            ['old', 'string'],
          ],
          { primaryKey: 'id' },
        ),
      ],
    ],
    resources: [
      of(
        'parents',
        'id,word,more\n1,a,\n2,b,5\n',
        [
          ['id', 'integer'],
          ['word', 'string'],
          ['more', 'integer'],
        ],
        { primaryKey: 'id' },
      ),
      children('id,parent\n1,1\n2,2\n'),
    ],
    says: {
      parents: ['SUCCEEDED', { source: 2, updated: 1, unchanged: 1 }],
      children: ['SUCCEEDED', { source: 2, loaded: 2 }],
    },
  },
  'a dataset without a key that is replaced, of which equal rows stay, and children of it': {
    before: [[of('parents', 'id\n1\n1\n2\n3\n', [['id', 'integer']])]],
    resources: [of('parents', 'id\n1\n3\n4\n4\n', [['id', 'integer']]), children('id,parent\n1,1\n2,4\n3,2\n')],
    says: {
      parents: ['SUCCEEDED', { source: 4, loaded: 2, unchanged: 2 }],
      children: ['BLOCKED', { source: 3, loaded: 2, blocked: 1 }],
    },
    blockers: ['MISSING_REFERENCE children'],
  },
  'a dataset without a key and without its column of before': {
    before: [
      [
        of('parents', 'id,gone\n1,\n2,x\n', [
          ['id', 'integer'],
          ['gone', 'string'],
        ]),
      ],
    ],
    resources: [
      of('parents', 'id,fresh\n1,\n2,\n', [
        ['id', 'integer'],
        ['fresh', 'string'],
      ]),
    ],
    says: { parents: ['SUCCEEDED', { source: 2, loaded: 1, unchanged: 1 }] },
  },
  'a file that cannot be read': {
    resources: [keyed('parents', 'number,word\n1,a\n')],
    says: { parents: ['FAILED', {}] },
    blockers: ['DATASET_FAILED parents'],
  },
  'no rows at all': { resources: [keyed('parents', 'id,word\n')], says: { parents: ['SUCCEEDED', {}] } },
};

describe('a plan says what the run then does, for', () => {
  it.each(Object.entries(cases))(
    '%s',
    async (_, { before = [], resources, onMissingReference = 'BLOCK', says, blockers = [], invalid = {} }) => {
      const workspaceId = await createWorkspace(app);
      for (const one of before) await loaded(app, workspaceId, one);
      const id = await registered(app, workspaceId, resources, { onMissingReference });
      const { plan: made } = await keepsItsWord(app, workspaceId, id);
      const none = { source: 0, loaded: 0, updated: 0, unchanged: 0, rejected: 0, blocked: 0, unprocessed: 0 };
      const text = (numbers: object) => Object.fromEntries(Object.entries({ ...none, ...numbers }).map(([name, n]) => [name, String(n)]));
      expect(Object.fromEntries(made.datasets.map((one: any) => [one.dataset, [one.state, one.account]]))).toEqual(
        Object.fromEntries(Object.entries(says).map(([name, [state, account]]) => [name, [state, text(account)]])),
      );
      expect(made.blockers.map(({ code, dataset }: any) => `${code} ${dataset}`)).toEqual(blockers);
      expect(made.datasets.filter((one: any) => one.invalidRows !== '0').map((one: any) => [one.dataset, Number(one.invalidRows)])).toEqual(
        Object.entries(invalid),
      );
    },
  );
});

describe('whatever is loaded after whatever', () => {
  const cell = fc.integer({ min: 1, max: 6 });
  const maybe = fc.option(cell, { nil: '' });
  const rows = <Row>(row: fc.Arbitrary<Row>) => fc.array(row, { maxLength: 7 });
  const bad = fc.oneof({ weight: 30, arbitrary: cell }, { weight: 1, arbitrary: fc.constant('x') });
  const packages = fc.record({
    top: rows(fc.tuple(cell, maybe)),
    middle: rows(fc.tuple(bad, maybe, maybe)),
    bottom: rows(fc.tuple(cell, maybe)),
    unique: fc.boolean(),
    onMissingReference: fc.constantFrom('BLOCK', 'FAIL'),
  });
  const lines = (head: string, cells: readonly (readonly unknown[])[]) => [head, ...cells.map((row) => row.join(','))].join('\n');
  const once = <Row extends readonly unknown[]>(cells: readonly Row[]) => [...new Map(cells.map((row) => [row[0], row])).values()];

  it.each([true, false])('a plan says what the run then does (with a key above: %s)', { timeout: 300_000 }, async (isKeyed) => {
    let blocked = 0;
    let failed = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(packages, { minLength: 2, maxLength: 5 }), async (sequence) => {
        const workspaceId = await createWorkspace(app);
        for (const { top, middle, bottom, unique, onMissingReference } of sequence) {
          const fields: FieldSpec[] = [
            ['id', 'integer'],
            ['code', 'integer', unique && isKeyed ? { unique: true } : {}],
          ];
          const resources = [
            of('bottom', lines('id,above', once(bottom)), [fields[0] as FieldSpec, ['above', 'integer']], {
              primaryKey: 'id',
              ...refers('middle', 'above'),
            }),
            of('middle', lines('id,top,beside', once(middle)), [fields[0] as FieldSpec, ['top', 'integer'], ['beside', 'integer']], {
              primaryKey: 'id',
              foreignKeys: [
                { fields: 'top', reference: { resource: 'top', fields: 'code' } },
                { fields: 'beside', reference: { resource: '', fields: 'id' } },
              ],
            }),
            of('top', lines('id,code', isKeyed ? once(top) : top), fields, isKeyed ? { primaryKey: 'id' } : {}),
          ];
          const { plan } = await keepsItsWord(app, workspaceId, await registered(app, workspaceId, resources, { onMissingReference }));
          blocked += plan.datasets.filter(({ state }: any) => state === 'BLOCKED').length;
          failed += plan.datasets.filter(({ state }: any) => state === 'FAILED').length;
        }
      }),
      { numRuns: 6, seed: 20_261_201 },
    );
    expect(Math.min(blocked, failed)).toBeGreaterThan(3);
  });
});
