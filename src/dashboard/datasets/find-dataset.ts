// Datasets of a workspace by name: the API gives them by the page, in the order they were first loaded.
import type { Client } from 'urql';
import { datasetsDocument } from '../../client/documents.ts';
import { typed } from '../api.ts';

interface NamedDataset {
  readonly id: string;
  readonly name: string;
}

const pageLength = 100; // the most that is given at once

/** All of them, or until one is what is looked for. Rejects with the CombinedError where one cannot be read. */
export async function datasetsOf(
  client: Client,
  slug: string,
  isWanted: (one: NamedDataset) => boolean = () => false,
): Promise<NamedDataset[]> {
  const found: NamedDataset[] = [];
  const from = async (after: string | null): Promise<void> => {
    const { data, error } = await client.query(typed(datasetsDocument), { slug, first: pageLength, after }).toPromise();
    if (error !== undefined) throw error;
    const { edges = [], pageInfo } = data?.workspace?.datasets ?? {};
    found.push(...edges.map(({ node }) => node));
    if (pageInfo?.hasNextPage === true && !found.some(isWanted)) await from(pageInfo.endCursor);
  };
  await from(null);
  return found;
}
