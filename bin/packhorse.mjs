#!/usr/bin/env node
// `npx packhorse …`: in a clone it builds first; an installed package has no sources, and is built.
import { existsSync } from 'node:fs';

if (existsSync(new URL('../src', import.meta.url))) {
  const { runBuilt } = await import('../scripts/run-built.mjs');
  await runBuilt();
} else {
  process.setSourceMapsEnabled(true);
  await import('../dist/cli/main.js');
}
