// The one way to the server: urql over the generated documents, subscriptions that resume, and what a refusal means for the session.
import { Client, type CombinedError, fetchExchange, mapExchange, subscriptionExchange, type TypedDocumentNode } from 'urql';
import type { TypedDocumentString } from '../client/gql/graphql.ts';
import { type ConnectionState, forwardSubscriptions } from '../client/urql.ts';
import { expire } from './session/session.ts';

/** As urql wants a document. It parses the text; the types are those of the generated document. */
export function typed<Result, Variables>(document: TypedDocumentString<Result, Variables>): TypedDocumentNode<Result, Variables> {
  return document.toString() as unknown as TypedDocumentNode<Result, Variables>; // urql takes a string for it, but has no type for one with a result
}

export type OnState = (state: ConnectionState, reason?: string) => void;

export function createApi(token: string, onState: OnState): Client {
  const url = location.origin;
  return new Client({
    url: `${url}/graphql`,
    preferGetMethod: false,
    fetchOptions: { headers: { authorization: `Bearer ${token}`, accept: 'application/json' } },
    // No cache: what is shown is asked again when it changed, and a cache between would have answers of its own (docs/decisions/0017-dashboard.md).
    exchanges: [
      mapExchange({
        onError(error) {
          if (codeOf(error) === 'UNAUTHENTICATED') expire(token, error.graphQLErrors[0]?.message);
        },
      }),
      fetchExchange,
      subscriptionExchange({ forwardSubscription: forwardSubscriptions({ url, token }, { onState }) }),
    ],
  });
}

export function codeOf(error: CombinedError): string {
  if (error.networkError !== undefined) return 'UNREACHABLE';
  const code = error.graphQLErrors[0]?.extensions['code'];
  return typeof code === 'string' ? code : 'FAULT';
}

/** One sentence for a person. */
export function sentenceOf(error: CombinedError): string {
  if (error.networkError !== undefined) return 'The server cannot be reached.';
  return error.graphQLErrors[0]?.message ?? error.message;
}
