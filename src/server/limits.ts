// What one document may ask of the server: refused before it is executed, over HTTP and sockets alike.
import { complexityFromQuery } from '@pothos/plugin-complexity';
import { type DocumentNode, GraphQLError, type GraphQLSchema, getOperationAST, Kind, type validate } from 'graphql';
import type { Plugin } from 'graphql-yoga';

export interface DocumentLimits {
  readonly tokens: number;
  readonly depth: number;
  readonly complexity: number;
}

const maxBreadth = 400;

export function documentLimits<Context extends object>({ tokens, depth, complexity }: DocumentLimits): Plugin<Context> {
  /** By document, of which yoga keeps the newest. In yoga's own place for it, see http.ts: there the costs would be kept with it. */
  const judged = new WeakMap<DocumentNode, readonly GraphQLError[]>();
  const limits = { depth, breadth: maxBreadth, cost: complexity };
  return {
    // First of all: every later check costs time that grows with the document.
    onParse({ parseFn, setParseFn }) {
      setParseFn((source, options) => parseFn(source, { ...options, maxTokens: tokens }));
    },
    // Not a validation rule: what an operation costs depends on its variables, and the outcome of rules is kept by document.
    onValidate({ validateFn, setValidationFn, context }) {
      // Yoga puts the request's parameters into the context before anything is validated.
      const { params } = context as { params?: Asked };
      const judge: typeof validate = (schema, document, ...rest) => {
        let errors = judged.get(document);
        if (errors === undefined) {
          errors = (validateFn as typeof validate)(schema, document, ...rest); // yoga declares it as any
          judged.set(document, errors);
        }
        if (errors.length > 0) return errors;
        const refusal = tooCostly(schema, document, params ?? {}, limits);
        return refusal === null ? errors : [refusal];
      };
      setValidationFn(judge);
    },
  };
}

interface Asked {
  readonly operationName?: string | null;
  readonly variables?: Record<string, unknown> | null;
}

function tooCostly(
  schema: GraphQLSchema,
  document: DocumentNode,
  { operationName, variables }: Asked,
  limits: { depth: number; breadth: number; cost: number },
): GraphQLError | null {
  const operation = getOperationAST(document, operationName);
  if (!operation) return null; // executing it says which is missing
  const fragments = document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION);
  try {
    const asked: DocumentNode = { kind: Kind.DOCUMENT, definitions: [operation, ...fragments] };
    const { depth, breadth, complexity } = complexityFromQuery(asked, { schema, variables: variables ?? {} });
    const values = { depth, breadth, cost: complexity };
    for (const what of ['depth', 'breadth', 'cost'] as const) {
      if (values[what] <= limits[what]) continue;
      const message = `The operation’s ${what} is ${values[what]}; at most ${limits[what]} is answered. Ask for less at once.`;
      return new GraphQLError(message, { extensions: { code: 'TOO_COSTLY' } });
    }
    return null;
  } catch (error) {
    if (error instanceof GraphQLError) return null; // a variable of the wrong type: executing it says so, of all of them
    throw error;
  }
}
