// The faulty rows of a dataset: what is wrong with each, to be read and to be taken away.
import { Button, Group, Table, Text } from '@mantine/core';
import { useQuery } from 'urql';
import { stepErrorsDocument } from '../client/page-documents.ts';
import { typed } from './api.ts';
import { csvOf } from './csv.ts';
import { Wide } from './lists.tsx';
import type { Run } from './run-page.tsx';
import { count, Fault, Loading } from './said.tsx';

interface RowErrorsProps {
  readonly step: Run['steps'][number];
}

export function RowErrors({ step: { id, dataset, rowErrorCount } }: RowErrorsProps) {
  const [{ data, error }, again] = useQuery({ query: typed(stepErrorsDocument), variables: { id } });
  if (error !== undefined) return <Fault error={error} again={() => again({ requestPolicy: 'network-only' })} />;
  if (data === undefined) return <Loading what={`the faulty rows of ${dataset}`} />;
  const errors = data.node?.__typename === 'DataRunStep' ? data.node.rowErrors : [];
  const isAll = String(errors.length) === rowErrorCount;
  return (
    <>
      <Group gap="sm">
        <Text size="sm">
          {count(rowErrorCount)} {rowErrorCount === '1' ? 'fault' : 'faults'} in the rows of {dataset}
          {!isAll && `, of which the first ${errors.length.toLocaleString('en')}`}:
        </Text>
        {errors.length > 0 && (
          <Button
            size="xs"
            variant="default"
            onClick={() =>
              download(
                `${dataset}-faults.csv`,
                csvOf(
                  ['row', 'field', 'code', 'message'],
                  errors.map(({ row, field, code, message }) => [row, field, code, message]),
                ),
              )
            }
          >
            Download {isAll ? 'them' : 'these'} as CSV
          </Button>
        )}
      </Group>
      <Wide label={`Faulty rows of ${dataset}`} head={['Row#', 'Field', 'What is wrong', 'Code']}>
        {errors.map(({ row, field, code, message }) => (
          <Table.Tr key={`${row} ${field} ${code} ${message}`}>
            <Table.Td className="num">{count(row)}</Table.Td>
            <Table.Td>{field}</Table.Td>
            <Table.Td className="text">{message}</Table.Td>
            <Table.Td>{code}</Table.Td>
          </Table.Tr>
        ))}
      </Wide>
    </>
  );
}

function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv;charset=utf-8' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url); // a download that has begun keeps what it downloads
}
