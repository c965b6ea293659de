// What a plan says is what the run then does: states, counts, violations, one kind of package after another.
import { describe, expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import { registered } from '../support/states.ts';
import { createWorkspace, type Resource } from '../support/story.ts';
import { type FieldSpec, keepsItsWord, loaded, of, refers } from './planning.ts';

const app = await startApp();

const id: FieldSpec = ['id', 'integer'];
const word: FieldSpec = ['word', 'string'];
const unique: FieldSpec = ['word', 'string', { unique: true }];
const parent: FieldSpec = ['parent', 'integer'];
const keyed = (name: string, rows: string, more: object = {}) => of(name, rows, [id, word], { primaryKey: 'id', ...more });
const children = (rows: string, parents = 'parents', target = 'id') =>
  of('children', rows, [id, ['parent', target === 'id' ? 'integer' : 'string']], {
    primaryKey: 'id',
    ...refers(parents, 'parent', target),
  });

interface Case {
  readonly before?: readonly (readonly Resource[])[];
  readonly resources: readonly Resource[];
  readonly onInvalidRow?: 'FAIL' | 'REJECT';
  readonly onMissingReference?: 'BLOCK' | 'FAIL' | 'REJECT';
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
    before: [[of('tree', 'id,parent\n9,\n', [id, parent], { primaryKey: 'id', ...refers('tree') })]],
    resources: [
      of('tree', 'id,parent\n1,2\n2,3\n3,4\n5,6\n6,5\n7,9\n', [id, parent], {
        primaryKey: 'id',
        ...refers('tree'),
      }),
    ],
    says: { tree: ['BLOCKED', { source: 6, loaded: 3, blocked: 3 }] },
    blockers: ['MISSING_REFERENCE tree'],
  },
  'invalid rows, and what would have come after them': {
    resources: [
      of('parents', 'id,word\n1,a\nx,b\n3,\n', [id, ['word', 'string', { required: true }]], { primaryKey: 'id' }),
      children('id,parent\n1,1\ny,1\n'),
    ],
    says: { parents: ['FAILED', { source: 3, rejected: 2, unprocessed: 1 }], children: ['SKIPPED', {}] },
    blockers: ['DATASET_FAILED parents', 'DATASET_NOT_LOADED children'],
    invalid: { parents: 2, children: 1 },
  },
  'invalid rows that are left out, and children of theirs that are held back': {
    before: [[keyed('parents', 'id,word\n9,i\n')]],
    onInvalidRow: 'REJECT',
    resources: [
      of('parents', 'id,word\n1,a\nx,b\n3,\n1,c\n4,d\n', [id, ['word', 'string', { required: true }]], { primaryKey: 'id' }),
      children('id,parent\n1,1\n2,3\n3,9\ny,1\n'),
    ],
    says: {
      parents: ['SUCCEEDED', { source: 5, loaded: 2, rejected: 3 }],
      children: ['BLOCKED', { source: 4, loaded: 2, rejected: 1, blocked: 1 }],
    },
    blockers: ['ROWS_REJECTED parents', 'MISSING_REFERENCE children', 'ROWS_REJECTED children'],
    invalid: { parents: 3, children: 1 },
  },
  'invalid rows that are left out, and children of theirs too': {
    onInvalidRow: 'REJECT',
    onMissingReference: 'REJECT',
    resources: [keyed('parents', 'id,word\n1,a\nx,b\n'), children('id,parent\n1,1\n2,2\n')],
    says: {
      parents: ['SUCCEEDED', { source: 2, loaded: 1, rejected: 1 }],
      children: ['SUCCEEDED', { source: 2, loaded: 1, rejected: 1 }],
    },
    blockers: ['ROWS_REJECTED parents', 'ROWS_REJECTED children'],
    invalid: { parents: 1, children: 1 },
  },
  'a unique value that a row has whose new version is left out': {
    before: [[of('parents', 'id,word\n1,a\n2,b\n', [id, unique], { primaryKey: 'id' })]],
    onInvalidRow: 'REJECT',
    resources: [of('parents', 'id,word\n1,b\n2,c\n2,d\n3,b\n4,e\n', [id, unique], { primaryKey: 'id' })],
    says: { parents: ['SUCCEEDED', { source: 5, loaded: 1, updated: 2, rejected: 2 }] },
    blockers: ['ROWS_REJECTED parents'],
    invalid: { parents: 2 },
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
    before: [[of('parents', 'id,word\n1,a\n2,b\n', [id, unique], { primaryKey: 'id' })]],
    resources: [of('parents', 'id,word\n3,b\n', [id, unique], { primaryKey: 'id' })],
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
    resources: [of('parents', 'id,word\n1,5\n', [id, ['word', 'integer']], { primaryKey: 'id' })],
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
    before: [[of('parents', 'id,word,old\n1,a,x\n2,b,\n', [id, ['word', 'string'], ['old', 'string']], { primaryKey: 'id' })]],
    resources: [
      of('parents', 'id,word,more\n1,a,\n2,b,5\n', [id, ['word', 'string'], ['more', 'integer']], { primaryKey: 'id' }),
      children('id,parent\n1,1\n2,2\n'),
    ],
    says: {
      parents: ['SUCCEEDED', { source: 2, updated: 1, unchanged: 1 }],
      children: ['SUCCEEDED', { source: 2, loaded: 2 }],
    },
  },
  'a dataset without a key that is replaced, of which equal rows stay, and children of it': {
    before: [[of('parents', 'id\n1\n1\n2\n3\n', [id])]],
    resources: [of('parents', 'id\n1\n3\n4\n4\n', [id]), children('id,parent\n1,1\n2,4\n3,2\n')],
    says: {
      parents: ['SUCCEEDED', { source: 4, loaded: 2, unchanged: 2 }],
      children: ['BLOCKED', { source: 3, loaded: 2, blocked: 1 }],
    },
    blockers: ['MISSING_REFERENCE children'],
  },
  'a dataset without a key and without its column of before': {
    before: [[of('parents', 'id,gone\n1,\n2,x\n', [id, ['gone', 'string']])]],
    resources: [of('parents', 'id,fresh\n1,\n2,\n', [id, ['fresh', 'string']])],
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
    async (_, { before = [], resources, onInvalidRow = 'FAIL', onMissingReference = 'BLOCK', says, blockers = [], invalid = {} }) => {
      const workspaceId = await createWorkspace(app);
      for (const one of before) await loaded(app, workspaceId, one);
      const run = await registered(app, workspaceId, resources, { onInvalidRow, onMissingReference });
      const { plan: made } = await keepsItsWord(app, workspaceId, run);
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
