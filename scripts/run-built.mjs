// Builds what needs building, then runs the command line in this process: a child would get Ctrl-C twice.
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { BuildFailed, ensureBuilt } from './ensure-built.mjs';

export async function runBuilt(...command) {
  try {
    await ensureBuilt();
  } catch (error) {
    if (!(error instanceof BuildFailed)) throw error;
    process.exit(1);
  }
  process.argv.splice(2, 0, ...command);
  process.setSourceMapsEnabled(true);
  await import(pathToFileURL(path.resolve(import.meta.dirname, '../dist/cli/main.js')).href);
}
