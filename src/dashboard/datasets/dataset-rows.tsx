// Rows as they are in the dataset: every value as the API writes it, none of them through a float.
import { Anchor, Button, Group, Table, Text } from '@mantine/core';
import { getRouteApi, Link } from '@tanstack/react-router';
import type { Place } from '../paging.tsx';
import { When } from '../said.tsx';
import { Section } from '../section.tsx';
import type { Dataset } from './dataset.ts';

const route = getRouteApi('/workspaces/$slug/datasets/$dataset');

export interface Column {
  readonly name: string;
  /** As the Table Schema calls it; empty where that does not say. */
  readonly type: string;
  readonly isKey: boolean;
}

type Row = Dataset['rows']['edges'][number]['node'];

/** The fields of a Table Schema in their order, and then whatever else the rows have. */
export function columnsOf(schema: unknown, rows: readonly unknown[]): Column[] {
  const { fields, primaryKey } = objectOf(schema);
  const keys = new Set(Array.isArray(primaryKey) ? primaryKey : [primaryKey]);
  const types = new Map<string, string>();
  for (const field of Array.isArray(fields) ? fields : []) {
    const { name, type } = objectOf(field);
    if (typeof name === 'string') types.set(name, typeof type === 'string' ? type : '');
  }
  for (const values of rows) for (const name of Object.keys(objectOf(values))) if (!types.has(name)) types.set(name, '');
  return [...types].map(([name, type]) => ({ name, type, isKey: keys.has(name) }));
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}; // an object has properties by name
}

const numbers = new Set(['integer', 'number', 'year']);

function Value({ value }: { readonly value: unknown }) {
  if (value === null || value === undefined) return <span className="nothing">null</span>;
  if (value === '') return <span className="nothing">empty</span>;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

interface RowsProps {
  readonly name: string;
  readonly columns: readonly Column[];
  readonly rows: Dataset['rows'];
  readonly place: Place;
  /** The key of the row that the address names. */
  readonly chosen: string | undefined;
}

/** Names of fields are anything: they are not the headings of `Wide`, where a sign at the end means something. */
export function Rows({ name, columns, rows: { edges }, place, chosen }: RowsProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard (WCAG 2.1.1)
    <section className="wide" aria-label={`Rows of ${name}`} tabIndex={0}>
      <Table highlightOnHover horizontalSpacing="xs" fz="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">Row</Table.Th>
            {columns.map((column) => (
              <Table.Th key={column.name} scope="col" className={numbers.has(column.type) ? 'field num' : 'field'}>
                <div>
                  {column.name}
                  <Text span size="xs" c="dimmed">
                    {' '}
                    {column.type}
                    {column.isKey && ' key'}
                  </Text>
                </div>
              </Table.Th>
            ))}
            <Table.Th scope="col">Written by</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {edges.map(({ node }, index) => {
            const before = edges[index - 1]?.cursor;
            // From the row before it, so that it stays the first of its page whatever comes before; the first row has none but its page’s.
            const to = before === undefined ? place : { after: before };
            return (
              <Table.Tr
                key={node.key}
                data-row={node.key}
                {...(node.key === chosen ? { bg: 'var(--mantine-color-default-hover)', 'aria-current': 'true' } : {})}
              >
                <Table.Th scope="row">
                  <RowLink rowKey={node.key} to={to} />
                </Table.Th>
                {columns.map((column) => (
                  <Table.Td key={column.name} className={numbers.has(column.type) ? 'num' : 'value'}>
                    <div>
                      <Value value={objectOf(node.values)[column.name]} />
                    </div>
                  </Table.Td>
                ))}
                <Table.Td>
                  <RunLink run={node.writtenBy} />
                </Table.Td>
              </Table.Tr>
            );
          })}
        </Table.Tbody>
      </Table>
    </section>
  );
}

function RowLink({ rowKey, to }: { readonly rowKey: string; readonly to: Place }) {
  const params = route.useParams();
  return (
    <Anchor
      inherit
      renderRoot={(props) => <Link {...props} to="/workspaces/$slug/datasets/$dataset" params={params} search={{ ...to, row: rowKey }} />}
    >
      {rowKey === '' ? 'empty' : rowKey}
    </Anchor>
  );
}

/** With when it was registered: runs of one package are alike but for that. */
function RunLink({ run }: { readonly run: Row['writtenBy'] }) {
  const { slug } = route.useParams();
  if (run === null) return <span className="nothing">a run that is gone</span>;
  return (
    <Anchor inherit renderRoot={(props) => <Link {...props} to="/workspaces/$slug/runs/$runId" params={{ slug, runId: run.id }} />}>
      {run.package.name} {run.package.version} <When at={run.registeredAt} />
    </Anchor>
  );
}

interface OneRowProps {
  readonly columns: readonly Column[];
  readonly row: Row;
  readonly close: () => void;
}

/** One row in full, from top to bottom: for what is too long for a line, and for narrow screens. */
export function OneRow({ columns, row, close }: OneRowProps) {
  return (
    <Section title={`Row ${row.key}`}>
      <dl className="fields">
        {columns.map(({ name, type, isKey }) => (
          <div key={name}>
            <dt>
              {name}{' '}
              <Text span size="xs" c="dimmed">
                {type}
                {isKey && ' key'}
              </Text>
            </dt>
            <dd>
              <Value value={objectOf(row.values)[name]} />
            </dd>
          </div>
        ))}
      </dl>
      <Text size="sm">
        Written by <RunLink run={row.writtenBy} />
      </Text>
      <Group>
        <Button size="xs" variant="default" onClick={close}>
          Close
        </Button>
      </Group>
    </Section>
  );
}
