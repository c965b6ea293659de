// What is wrong in the rows of a step's dataset, asked for when it is shown.
import { useQuery } from 'urql';
import { stepErrorsDocument } from '../../client/page-documents.ts';
import { typed } from '../api.ts';
import { Fault, Loading } from '../said.tsx';
import { FaultyRows } from './faulty-rows.tsx';
import type { Run } from './run.ts';

interface RowErrorsProps {
  readonly step: Run['steps'][number];
}

export function RowErrors({ step: { id, dataset, rowErrorCount } }: RowErrorsProps) {
  const [{ data, error }, again] = useQuery({ query: typed(stepErrorsDocument), variables: { id } });
  if (error !== undefined) return <Fault error={error} again={() => again({ requestPolicy: 'network-only' })} />;
  if (data === undefined) return <Loading what={`the faulty rows of ${dataset}`} />;
  const errors = data.node?.__typename === 'DataRunStep' ? data.node.rowErrors : [];
  return <FaultyRows dataset={dataset} errors={errors} count={rowErrorCount} />;
}
