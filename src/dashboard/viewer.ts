import { useQuery } from 'urql';
import { viewerDocument } from '../client/page-documents.ts';
import { typed } from './api.ts';

/** Whether the token has the permission; null while that is not known. The server has the last word: this is for what a page offers. */
export function useMay(permission: 'workspace:admin' | 'data-run' | 'data-run:force' | 'data-export:execute'): boolean | null {
  const [{ data }] = useQuery({ query: typed(viewerDocument) });
  return data === undefined ? null : data.viewer.permissions.includes(permission);
}
