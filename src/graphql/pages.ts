// Lists in the order of their ids, a page at a time. A cursor is a place between rows, not a row: it holds although its row has gone, or
// no longer matches the filter. Prisma's own cursors then lose a row, or the rest of the list.
import { queryFromInfo } from '@pothos/plugin-prisma';
import type { GraphQLResolveInfo } from 'graphql';
import { InvalidInputError } from '../errors.ts';
import { defaultPageSize, maxPageSize, uuidForm } from './builder.ts';

export interface PageArgs {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly last?: number | null | undefined;
  readonly before?: string | null | undefined;
}

const isGiven = <T>(value: T | null | undefined): value is T => value !== null && value !== undefined;

/** How many, at most the largest page. Throws for a negative number, and for both sides at once: what that means nobody agrees on. */
export function pageSize({ first, last }: Pick<PageArgs, 'first' | 'last'>): number {
  if (isGiven(first) && isGiven(last)) throw new InvalidInputError('last', 'Ask for the first or the last of a list, not for both.');
  if ((first ?? 0) < 0) throw new InvalidInputError('first', 'A page has no negative size.');
  if ((last ?? 0) < 0) throw new InvalidInputError('last', 'A page has no negative size.');
  return Math.min(first ?? last ?? defaultPageSize, maxPageSize);
}

/** For a filter by when: neither instant is within, and one that is not given bounds nothing. */
export function between(after: Date | null | undefined, before: Date | null | undefined): { gt?: Date; lt?: Date } {
  return { ...(isGiven(after) ? { gt: after } : {}), ...(isGiven(before) ? { lt: before } : {}) };
}

export interface IdRange {
  readonly where: { readonly id: { readonly gt?: string; readonly lt?: string } };
  readonly orderBy: { readonly id: 'asc' | 'desc' };
  readonly take: number;
}

/** What Prisma is to load of each row with it, for the fields that were asked for. As an object of no keys that we know: it includes, it never narrows. */
export function nodeQuery(context: object, info: GraphQLResolveInfo, typeName: string): object {
  return queryFromInfo({ context, info, typeName, path: ['edges', 'node'] });
}

/** A page of a list. `list` names it, with whose it is: another list's cursor is refused. */
export async function idPage<Row extends { readonly id: string }>(
  list: string,
  order: 'asc' | 'desc',
  args: PageArgs,
  read: (range: IdRange) => Promise<Row[]>,
) {
  const size = pageSize(args);
  const after = placeOf(list, 'after', args.after);
  const before = placeOf(list, 'before', args.before);
  const backward = isGiven(args.last) || (before !== null && after === null && !isGiven(args.first));
  const [low, high] = order === 'asc' ? [after, before] : [before, after];
  const rows = await read({
    where: { id: { ...(low === null ? {} : { gt: low }), ...(high === null ? {} : { lt: high }) } },
    orderBy: { id: (order === 'asc') === backward ? 'desc' : 'asc' },
    take: size + 1,
  });
  const more = rows.length > size;
  const taken = rows.slice(0, size);
  if (backward) taken.reverse();
  const edges = taken.map((node) => ({ cursor: encode(list, node.id), node }));
  return {
    edges,
    pageInfo: {
      hasNextPage: backward ? before !== null : more,
      hasPreviousPage: backward ? more : after !== null,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  };
}

function encode(list: string, id: string): string {
  return Buffer.from(`${list}:${id}`).toString('base64url');
}

function placeOf(list: string, side: 'after' | 'before', cursor: string | null | undefined): string | null {
  if (!isGiven(cursor)) return null;
  const text = Buffer.from(cursor, 'base64url').toString('latin1');
  const id = text.slice(list.length + 1);
  // Decoding passes over whatever is not base64url, so what was read is compared as it would have been written.
  if (uuidForm.test(id) && encode(list, id) === cursor) return id;
  throw new InvalidInputError(side, 'This cursor is not one that this list gave out.', 'CURSOR_INVALID');
}
