import { defineConfig } from 'prisma/config';

// The native schema engine cannot be downloaded everywhere; generate, validate and format only need the path to exist.
process.env['PRISMA_SCHEMA_ENGINE_BINARY'] ??= process.execPath;

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
});
