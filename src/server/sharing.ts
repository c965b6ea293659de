// Which subscribers may share a stream, and how its payloads reach each of them.
import { type DocumentNode, getOperationAST, Kind, visit } from 'graphql';
import type { SubscribePayload } from 'graphql-ws';
import type { WebSocket } from 'ws';
import { rightsOf, type Viewer } from '../auth/viewer.ts';
import type { Outlet } from '../events/fan-out.ts';

export const tryAgainLater = 1013; // clients try again after it
// What the kernel does not take, ws keeps without end.
const outletBytes = 65_536;

/** One operation on a socket, for payloads that others get as well. */
export function outletOf(socket: WebSocket, id: string): Outlet {
  const head = `{"id":${JSON.stringify(id)},"type":"next","payload":`;
  return {
    send(json) {
      if (socket.bufferedAmount > outletBytes) return false;
      socket.send(`${head}${json}}`);
      return true;
    },
    giveUp: () => socket.close(tryAgainLater, 'Too far behind'),
  };
}

/** All that a payload depends on: the operation, what it is given, and the rights it is read with. Where it begins is each subscriber's own. */
export function sharingKey(document: DocumentNode, params: SubscribePayload, viewer: Viewer): string {
  const cursor = cursorVariable(document, params.operationName);
  const variables = Object.entries(params.variables ?? {}).filter(([name]) => name !== cursor);
  return JSON.stringify([params.query, params.operationName ?? null, variables.sort(([a], [b]) => (a < b ? -1 : 1)), rightsOf(viewer)]);
}

/** The variable that gives `after` of the root field, if it gives nothing else. */
function cursorVariable(document: DocumentNode, operationName: string | null | undefined): string | undefined {
  const operation = getOperationAST(document, operationName);
  const [field] = operation?.selectionSet.selections ?? [];
  const value = field?.kind === Kind.FIELD ? field.arguments?.find(({ name }) => name.value === 'after')?.value : undefined;
  if (value?.kind !== Kind.VARIABLE) return undefined;
  let uses = 0;
  visit(document, {
    Variable({ name }) {
      if (name.value === value.name.value) uses++;
    },
  });
  return uses === 2 ? value.name.value : undefined; // where it is declared, and here
}
