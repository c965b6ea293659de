// The dashboard: src/dashboard into dist/dashboard, compressed once here and not at every request.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin, type Rolldown } from 'vite';

/** What a browser fetches before it shows anything, gzipped. What is asked for later is not counted. */
const firstLoadBytes = 250_000;

// Whoever builds, a test runner too: React has another half for every other value.
process.env['NODE_ENV'] = 'production';

export default defineConfig({
  root: 'src/dashboard',
  plugins: [react(), compressed()],
  // The server puts a fresh value in its place for each page: nothing inline runs or styles without it.
  html: { cspNonce: 'CSP_NONCE' },
  build: {
    outDir: path.resolve(import.meta.dirname, 'dist/dashboard'),
    emptyOutDir: true,
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 2_000, // kB, and not compressed: what counts is checked below
  },
  logLevel: 'warn',
});

function compressed(): Plugin {
  return {
    name: 'compressed',
    enforce: 'post',
    writeBundle({ dir = '' }, bundle) {
      const sizes = new Map<string, number>();
      for (const file of Object.keys(bundle).filter((name) => /\.(js|css)$/.test(name))) {
        const zipped = gzipSync(readFileSync(path.join(dir, file)), { level: 9 });
        writeFileSync(path.join(dir, `${file}.gz`), zipped);
        sizes.set(file, zipped.length);
      }
      const first = [...firstLoad(bundle)];
      const bytes = first.reduce((sum, file) => sum + (sizes.get(file) ?? 0), 0);
      const said = `the first load is ${bytes} bytes gzipped (${first.map((file) => `${file} ${sizes.get(file)}`).join(', ')})`;
      if (bytes > firstLoadBytes) this.error(`${said}, over ${firstLoadBytes}: load something of it later`);
      this.info(said);
    },
  };
}

/** The page's own chunk, what that imports, and their styles. */
function firstLoad(bundle: Rolldown.OutputBundle): Set<string> {
  const found = new Set<string>();
  const add = (file: string) => {
    const chunk = bundle[file];
    if (found.has(file) || chunk?.type !== 'chunk') return;
    found.add(file);
    for (const style of chunk.viteMetadata?.importedCss ?? []) found.add(style);
    for (const imported of chunk.imports) add(imported);
  };
  for (const chunk of Object.values(bundle)) if (chunk.type === 'chunk' && chunk.isEntry) add(chunk.fileName);
  return found;
}
