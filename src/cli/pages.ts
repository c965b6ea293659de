// A list of the API read page by page, up to so many.
interface Page<Node> {
  readonly edges: readonly { readonly node: Node }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

const pageSize = 50;

export async function listed<Node>(limit: number, read: (first: number, after: string | null) => Promise<Page<Node>>): Promise<Node[]> {
  const found: Node[] = [];
  let after: string | null = null;
  for (;;) {
    const { edges, pageInfo }: Page<Node> = await read(Math.min(pageSize, limit - found.length), after);
    found.push(...edges.map(({ node }) => node));
    if (found.length >= limit || !pageInfo.hasNextPage) return found;
    after = pageInfo.endCursor;
  }
}
