// What one document may ask of the server: refused before it is executed, over HTTP and sockets alike.
import { createComplexityRule } from '@pothos/plugin-complexity';
import { GraphQLError } from 'graphql';
import type { Plugin } from 'graphql-yoga';

export interface DocumentLimits {
  readonly tokens: number;
  readonly depth: number;
  readonly complexity: number;
}

const maxBreadth = 400;

export function documentLimits<Context extends object>({ tokens, depth, complexity }: DocumentLimits): Plugin<Context> {
  const limits = { depth, breadth: maxBreadth, cost: complexity };
  return {
    // First of all: every later check costs time that grows with the document.
    onParse({ parseFn, setParseFn }) {
      setParseFn((source, options) => parseFn(source, { ...options, maxTokens: tokens }));
    },
    onValidate({ addValidationRule, context }) {
      // Page sizes may come as variables. Yoga puts the request's parameters into the context before anything is validated.
      const { params } = context as { params?: { variables?: Record<string, unknown> | null } };
      addValidationRule(
        createComplexityRule({
          context: {},
          variableValues: params?.variables ?? {},
          validate: (found, report) => {
            const values = { depth: found.depth, breadth: found.breadth, cost: found.complexity };
            for (const what of ['depth', 'breadth', 'cost'] as const) {
              if (values[what] <= limits[what]) continue;
              const message = `The operation’s ${what} is ${values[what]}; at most ${limits[what]} is answered. Ask for less at once.`;
              return report(new GraphQLError(message, { extensions: { code: 'TOO_COSTLY' } }));
            }
          },
        }),
      );
    },
  };
}
