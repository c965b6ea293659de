import type { CodegenConfig } from '@graphql-codegen/cli';

export default {
  schema: 'schema.graphql', // the printed file, so that this needs neither a database nor server code
  documents: ['src/client/**/*.ts', 'test/**/*.ts', '!src/client/gql/**'],
  ignoreNoDocuments: true,
  generates: {
    'src/client/gql/': {
      preset: 'client',
      presetConfig: { fragmentMasking: false },
      config: {
        useTypeImports: true,
        enumsAsTypes: true,
        strictScalars: true,
        scalars: { DateTime: 'string', BigInt: 'string', JSON: 'unknown', ID: 'string' },
        documentMode: 'string',
        emitLegacyCommonJSImports: false,
        importExtension: '.ts',
      },
    },
  },
} satisfies CodegenConfig;
