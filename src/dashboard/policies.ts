// What a run does about what is not as it should be, in words: where it is chosen, and where it is told.
import type { RegisterDataRunInput } from '../client/gql/graphql.ts';

export type Policies = Pick<RegisterDataRunInput, 'onInvalidRow' | 'onMissingReference' | 'onHashMismatch'>;

interface Policy {
  readonly name: keyof Policies;
  readonly label: string;
  /** The first is what holds where nothing is said. */
  readonly options: readonly (readonly [value: string, says: string])[];
}

const leftOut = ['REJECT', 'are left out, and can be downloaded'] as const;
const fails = ['FAIL', 'fail their dataset'] as const;

export const policies: readonly Policy[] = [
  { name: 'onInvalidRow', label: 'Rows that are not valid', options: [fails, leftOut] },
  { name: 'onMissingReference', label: 'Rows that point at nothing', options: [['BLOCK', 'are held back'], fails, leftOut] },
  {
    name: 'onHashMismatch',
    label: 'Sizes and hashes that are wrong',
    options: [
      ['FAIL', 'refuse the package'],
      ['WARN', 'are noted'],
    ],
  },
];

/** A sentence for each that is given. */
export const toldOf = (chosen: Policies): string =>
  policies
    .flatMap(({ name, label, options }) => options.filter(([value]) => value === chosen[name]).map(([, says]) => `${label} ${says}.`))
    .join(' ');
