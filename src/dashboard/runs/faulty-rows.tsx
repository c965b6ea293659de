// Faulty rows of a dataset: what is wrong with each, to be read and to be taken away.
import { Button, Group, Table, Text } from '@mantine/core';
import { download } from '../download.ts';
import { count as shown } from '../said.tsx';
import { Wide } from '../wide.tsx';
import { csvOf } from './csv.ts';

interface FaultyRowsProps {
  readonly dataset: string;
  readonly errors: readonly { readonly row: string; readonly field: string | null; readonly code: string; readonly message: string }[];
  /** Of all faults; `errors` are the first. */
  readonly count: string;
}

export function FaultyRows({ dataset, errors, count }: FaultyRowsProps) {
  if (count === '0') return null;
  const isAll = String(errors.length) === count;
  const lines = errors.map(({ row, field, code, message }) => [row, field, code, message]);
  return (
    <>
      <Group gap="sm">
        <Text size="sm">
          {shown(count)} {count === '1' ? 'fault' : 'faults'} in the rows of {dataset}
          {!isAll && `, of which the first ${errors.length.toLocaleString('en')}`}:
        </Text>
        {errors.length > 0 && (
          <Button
            size="xs"
            variant="default"
            onClick={() => download(`${dataset}-faults.csv`, 'text/csv;charset=utf-8', [csvOf(['row', 'field', 'code', 'message'], lines)])}
          >
            Download {isAll ? 'them' : 'these'} as CSV
          </Button>
        )}
      </Group>
      <Wide label={`Faulty rows of ${dataset}`} head={['Row#', 'Field', 'What is wrong', 'Code']}>
        {errors.map(({ row, field, code, message }) => (
          <Table.Tr key={`${row} ${field} ${code} ${message}`}>
            <Table.Td className="num">{shown(row)}</Table.Td>
            <Table.Td>{field}</Table.Td>
            <Table.Td className="text">{message}</Table.Td>
            <Table.Td>{code}</Table.Td>
          </Table.Tr>
        ))}
      </Wide>
    </>
  );
}
