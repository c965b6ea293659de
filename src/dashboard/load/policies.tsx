// What is to become of what is not as it should be: chosen before a package is brought.
import { NativeSelect, SimpleGrid } from '@mantine/core';
import type { RegisterDataRunInput } from '../../client/gql/graphql.ts';

export type Policies = Pick<RegisterDataRunInput, 'onInvalidRow' | 'onMissingReference' | 'onHashMismatch'>;

const choices = [
  {
    name: 'onInvalidRow',
    label: 'Rows that are not valid',
    options: [
      ['FAIL', 'fail their dataset'],
      ['REJECT', 'are left out, and can be downloaded'],
    ],
  },
  {
    name: 'onMissingReference',
    label: 'Rows that point at nothing',
    options: [
      ['BLOCK', 'are held back'],
      ['FAIL', 'fail their dataset'],
      ['REJECT', 'are left out, and can be downloaded'],
    ],
  },
  {
    name: 'onHashMismatch',
    label: 'Sizes and hashes that are wrong',
    options: [
      ['FAIL', 'refuse the package'],
      ['WARN', 'are noted'],
    ],
  },
] as const;

interface ChoosePoliciesProps {
  readonly policies: Policies;
  readonly choose: (policies: Policies) => void;
}

export function ChoosePolicies({ policies, choose }: ChoosePoliciesProps) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 3 }}>
      {choices.map(({ name, label, options }) => (
        <NativeSelect
          key={name}
          label={label}
          value={policies[name] ?? options[0][0]}
          data={options.map(([value, says]) => ({ value, label: says }))}
          onChange={({ currentTarget: { value } }) => choose({ ...policies, [name]: value })}
        />
      ))}
    </SimpleGrid>
  );
}
