// Prints the schema that clients are written against to schema.graphql.
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { printed } from '../src/server/schema.ts';

writeFileSync(path.resolve(import.meta.dirname, '../schema.graphql'), printed());
