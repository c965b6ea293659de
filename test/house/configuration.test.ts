// docs/configuration.md is written by hand; that it is whole and right is looked at here.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

const root = path.resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(path.join(root, file), 'utf8');
const rows = [...read('docs/configuration.md').matchAll(/^\| `([A-Z_]+)` +\| ([^|]+?) +\|/gm)].map(([, name = '', value = '']) => ({
  name,
  value,
}));
const settings = [
  /^const settings = z\.object\(\{$([\s\S]*?)^\}\);$/m.exec(read('src/config.ts'))?.[1],
  /^export const placeSettings = \{$([\s\S]*?)^\};$/m.exec(read('src/config-storage.ts'))?.[1],
].join('\n');

it('names every variable of config.ts, and no other', () => {
  const known = [...settings.matchAll(/^ {2}([A-Z_]+):/gm)].map(([, name = '']) => name);
  expect(known.length).toBeGreaterThan(30);
  expect(rows.map(({ name }) => name).sort()).toEqual(known.sort());
});

it('states the defaults that config.ts has', () => {
  for (const { name, value } of rows) {
    const [, inCode] = new RegExp(`^  ${name}: whole\\(([\\d_]+)`, 'm').exec(settings) ?? [];
    if (inCode !== undefined) expect(value, name).toBe(`\`${inCode.replaceAll('_', '')}\``);
  }
});
