// A package loaded by the page as a folder: chosen or dropped, packed in the browser.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page, Route } from 'playwright-core';
import { afterEach, expect, it } from 'vitest';
import { openArchive } from '../../src/packages/archive.ts';
import { defaultPackageLimits } from '../../src/packages/limits.ts';
import { startApp, storageRoot } from '../support/app.ts';
import { expectAccessible, reachedByKeyboard, useChromium } from '../support/browser.ts';
import { memoryStorage } from '../support/memory-storage.ts';
import { createWorkspace, mutate, reach } from '../support/story.ts';

const app = await startApp();
const visit = useChromium();
const homes: string[] = [];
afterEach(() => {
  for (const home of homes.splice(0)) rmSync(home, { recursive: true });
});

/** A folder `lakes` of these files. */
function folderOf(files: Readonly<Record<string, unknown>>): string {
  const home = mkdtempSync(path.join(tmpdir(), 'packhorse-folder-'));
  homes.push(home);
  const folder = path.join(home, 'lakes');
  mkdirSync(folder);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  }
  return folder;
}

const text = (name: string) => ({ name, type: 'string' });
/** Three files for each dataset, folders in folders, an accent that the disk spells decomposed, and what must not leave the machine. */
function lakes(count: number, inside = ''): Record<string, unknown> {
  const names = Array.from({ length: count }, (_, n) => `lake ${n}`);
  const at = (name: string, kind: string) => `data/Zürich/deep/${name}.${kind}`;
  const resources = names.map((name) => ({
    name,
    path: at(name, 'csv'),
    schema: `./${at(name, 'schema.json').replace('/', '//')}`,
    dialect: at(name, 'dialect.json'),
  }));
  const ofLake = (name: string): Record<string, unknown> => ({
    [at(name, 'csv')]: `id;label\n1;${name} é\n2;another\n`,
    [at(name, 'schema.json')]: { fields: [text('id'), text('label')], primaryKey: 'id' },
    [at(name, 'dialect.json')]: { delimiter: ';' },
  });
  const files = {
    'datapackage.json': { name: 'lakes', resources },
    ...Object.assign({}, ...names.map(ofLake)),
    '.env': 'SECRET=1',
    '.git/config': 'no',
    [at('draft', 'csv')]: 'no',
  };
  return Object.fromEntries(Object.entries(files).map(([name, content]) => [(inside + name).normalize('NFD'), content]));
}

async function open(workspace: string) {
  const id = await createWorkspace(app, workspace);
  const opened = await visit(`${app.url}/workspaces/${workspace}/load#token=${await app.token()}`);
  await opened.page.getByRole('region', { name: 'Drop a package here' }).waitFor();
  return { ...opened, id };
}

/** As the system does it, so that the page is given real directories. */
async function drop(page: Page, ...files: string[]): Promise<void> {
  const box = await page.getByRole('region', { name: 'Drop a package here' }).boundingBox();
  const devtools = await page.context().newCDPSession(page);
  const data = { items: [], files, dragOperationsMask: 1 };
  for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
    await devtools.send('Input.dispatchDragEvent', { type, x: box!.x + box!.width / 2, y: box!.y + box!.height / 2, data });
  }
}

const choose = (page: Page, folder: string) => page.getByLabel('The folder').setInputFiles(folder);

/** How many rows of each dataset the run loaded whose page is come to. */
async function loaded(page: Page): Promise<Record<string, number>> {
  await page.getByRole('button', { name: 'Plan it' }).waitFor();
  const run = decodeURIComponent(new URL(page.url()).pathname.split('/').at(-1)!);
  await mutate(app, 'startDataRun', { dataRunId: run });
  const { steps } = await reach(app, run, 'SUCCEEDED');
  return Object.fromEntries(steps.map(({ dataset, rows }: any) => [dataset, Number(rows.loaded)]));
}

async function runsOf(workspace: string): Promise<unknown> {
  const { data } = await app.graphql('query ($slug: String!) { workspace(slug: $slug) { dataRuns(first: 5) { edges { node { id } } } } }', {
    slug: workspace,
  });
  return data.workspace.dataRuns.edges;
}

/** The files in storage. */
function stored(): string[] {
  const root = storageRoot(app);
  if (!existsSync(root)) return []; // until the first is put there
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
}

it('loads a folder that is chosen, and sends only what its descriptor names', async () => {
  const { page, elsewhere, faults } = await open('chosen');
  expect(await reachedByKeyboard(page)).toContain('Choose a folder');
  await expectAccessible(page);
  const before = stored();
  await choose(page, folderOf(lakes(3)));
  expect(await loaded(page)).toEqual({ 'lake 0': 2, 'lake 1': 2, 'lake 2': 2 });
  const sent = stored().filter((file) => !before.includes(file));
  expect(sent).toHaveLength(1);
  const archive = await openArchive(memoryStorage({ zip: readFileSync(sent[0]!) }), 'zip', defaultPackageLimits);
  const kinds = ['csv', 'dialect.json', 'schema.json'];
  const named = [0, 1, 2].flatMap((n) => kinds.map((kind) => `data/Zürich/deep/lake ${n}.${kind}`));
  expect([...archive.entries.keys()].sort()).toEqual([...named, 'datapackage.json']);
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
});

it('loads a folder that is dropped, of more files than a browser lists at once, with the package in a folder of it', async () => {
  const { page, elsewhere, faults } = await open('dropped');
  const folder = folderOf({ ...lakes(36, 'package/'), '.git/datapackage.json': '{}', 'notes/read me.txt': 'no' });
  await drop(page, folder);
  expect(await loaded(page)).toEqual(Object.fromEntries(Array.from({ length: 36 }, (_, n) => [`lake ${n}`, 2])));
  expect({ elsewhere, faults }).toEqual({ elsewhere: [], faults: [] });
});

it('says what is missing of a folder, and sends nothing', async () => {
  const { page, faults } = await open('missing');
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.method()));
  const alert = page.getByRole('alert');
  const problems = page.getByRole('region', { name: 'Problems of the package' });

  await choose(page, folderOf({ 'a/b/datapackage.json': {}, '.git/datapackage.json': {} }));
  await alert.getByText('There is no datapackage.json in "lakes", nor in a folder directly in it').waitFor();
  await drop(page, folderOf({ 'b/datapackage.json': {}, 'a/datapackage.json': {} }));
  await alert.getByText('There are 2 packages in "lakes": "a", "b". Choose one of them.').waitFor();
  await drop(page, folderOf({ 'datapackage.json': '{' }));
  await problems.getByText('datapackage.json is not valid JSON: line 1, column 2').waitFor();
  const resources = [{ path: '../secret' }, { path: 'absent.csv' }, { path: 'folder' }, { path: 'there.csv' }];
  await choose(page, folderOf({ 'datapackage.json': { resources }, 'folder/x': '', 'there.csv': '' }));
  await problems.getByText('absent.csv').waitFor();
  expect(await problems.getByRole('row').allTextContents()).toEqual([
    'DatasetWhereWhat is wrongCode',
    '/resources/0/pathThe path "../secret" is not safe: it leaves its folder.UNSAFE_PATH',
    '/resources/1/pathThe file "absent.csv" is not in the folder.FILE_MISSING',
    '/resources/2/path"folder" is not a file.FILE_MISSING',
  ]);
  await expectAccessible(page);
  await drop(page, folderOf(lakes(1)), folderOf(lakes(1)));
  await alert.getByText('2 things were dropped at once.').waitFor();
  expect(asked).not.toContain('PUT');
  expect({ runs: await runsOf('missing'), faults }).toEqual({ runs: [], faults: [] });
});

it.each([
  ['is gone', (file: string) => rmSync(file)],
  ['has changed', (file: string) => writeFileSync(file, 'id,label\n1,changed\n')],
])('says so where a file %s when it is packed', async (what, change) => {
  const workspace = what.replace(' ', '-');
  const { page, faults } = await open(workspace);
  const folder = folderOf(lakes(2));
  // What packs is held back, so that it happens between the choice and the reading.
  await page.route(/\/assets\/pack-/, async (route) => {
    change(path.join(folder, 'data/Zürich/deep/lake 1.csv'.normalize('NFD')));
    await route.continue();
  });
  await choose(page, folder);
  await page.getByRole('alert').getByText('The file "data/Zürich/deep/lake 1.csv" cannot be read').waitFor();
  expect({ runs: await runsOf(workspace), faults }).toEqual({ runs: [], faults: [] });
});

it('says so where what packs does not come, and stops before it has come', async () => {
  const { page, faults } = await open('held');
  let held: Route | undefined;
  await page.route(/\/assets\/pack-/, (route) => {
    held = route;
  });
  await choose(page, folderOf(lakes(1)));
  await expect.poll(() => held).toBeDefined();
  await page.getByRole('button', { name: 'Stop' }).click();
  await held!.continue();
  await page.getByRole('alert').getByText('The packing was stopped. Nothing was sent.').waitFor();
  await page.reload();
  held = undefined;
  await choose(page, folderOf(lakes(1)));
  await expect.poll(() => held).toBeDefined();
  await held!.abort();
  await page.getByRole('alert').getByText('What packs a folder could not be fetched').waitFor();
  expect({ runs: await runsOf('held'), faults }).toEqual({ runs: [], faults: [] });
});

it('shows how much is packed, and stops when it is told to', async () => {
  const { page, faults } = await open('stopped');
  const folder = folderOf(lakes(1));
  truncateSync(path.join(folder, 'data/Zürich/deep/lake 0.csv'.normalize('NFD')), 2 ** 30);
  await drop(page, folder);
  const bar = page.getByRole('progressbar', { name: 'lakes packed' });
  await expect.poll(async () => Number(await bar.getAttribute('aria-valuenow')), { interval: 20 }).toBeGreaterThan(0);
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('alert').getByText('The packing was stopped. Nothing was sent.').waitFor();
  await page.getByRole('button', { name: 'Choose a folder' }).waitFor();
  expect({ runs: await runsOf('stopped'), faults }).toEqual({ runs: [], faults: [] });
});

it('sends nothing where it is stopped while a place for it is asked for', async () => {
  const { page, faults } = await open('asking');
  const methods: string[] = [];
  page.on('request', (request) => methods.push(request.method()));
  let held: Route | undefined;
  await page.route('**/graphql', (route) => {
    const isStaging = route.request().postData()?.includes('stagePackage');
    if (isStaging) held = route;
    return isStaging ? undefined : route.continue();
  });
  await choose(page, folderOf(lakes(1)));
  await expect.poll(() => held).toBeDefined();
  await page.getByRole('button', { name: 'Stop' }).click();
  await held!.continue();
  await page.getByRole('alert').getByText('The upload was stopped. Nothing was loaded.').waitFor();
  expect(methods).not.toContain('PUT');
  expect({ runs: await runsOf('asking'), faults }).toEqual({ runs: [], faults: [] });
});
