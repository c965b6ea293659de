import { NativeSelect, SimpleGrid } from '@mantine/core';
import { type Policies, policies } from '../policies.ts';

interface ChoosePoliciesProps {
  readonly chosen: Policies;
  readonly choose: (policies: Policies) => void;
}

/** What is to become of what is not as it should be: chosen before a package is brought. */
export function ChoosePolicies({ chosen, choose }: ChoosePoliciesProps) {
  return (
    <SimpleGrid cols={{ base: 1, sm: 3 }}>
      {policies.map(({ name, label, options }) => (
        <NativeSelect
          key={name}
          label={label}
          value={chosen[name] ?? options[0]?.[0] ?? ''}
          data={options.map(([value, says]) => ({ value, label: says }))}
          onChange={({ currentTarget: { value } }) => choose({ ...chosen, [name]: value })}
        />
      ))}
    </SimpleGrid>
  );
}
