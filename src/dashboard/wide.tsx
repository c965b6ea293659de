import { Table } from '@mantine/core';
import type { ReactNode } from 'react';

interface WideProps {
  readonly label: string;
  /** `#` at the end: numbers, to the right. */
  readonly head: readonly string[];
  readonly children: ReactNode;
}

/** A table that is moved sideways on a narrow screen, by the keyboard too. */
export function Wide({ label, head, children }: WideProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard (WCAG 2.1.1)
    <section className="wide" aria-label={label} tabIndex={0}>
      <Table highlightOnHover horizontalSpacing="xs" fz="sm">
        <Table.Thead>
          <Table.Tr>
            {head.map((name) => (
              <Table.Th key={name} className={name.endsWith('#') ? 'num' : undefined} scope="col">
                {name.replace('#', '')}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </section>
  );
}
