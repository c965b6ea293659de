// Ratios, each side measured in the same run on the same Postgres: `npm run bench [-- transition|list|load|export|download|subscribers|targets|dashboard]`.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { startPostgres } from '../src/postgres/embedded.ts';
import { benchDashboard } from './dashboard.ts';
import { benchDownload } from './download.ts';
import { benchExport } from './export.ts';
import { benchList } from './list.ts';
import { benchLoad } from './load.ts';
import { benchSubscribers } from './subscribers.ts';
import { benchTargets } from './targets.ts';
import { benchTransition } from './transition.ts';

const wanted = process.argv.slice(2);
const benches = {
  transition: benchTransition,
  list: benchList,
  load: benchLoad,
  export: benchExport,
  download: benchDownload,
  subscribers: benchSubscribers,
  targets: benchTargets,
  dashboard: benchDashboard,
};

const home = mkdtempSync(path.join(tmpdir(), 'packhorse-bench-'));
// Durable, as in production: fsync stays on.
const postgres = await startPostgres({ home, settings: { shared_buffers: '512MB' } });
try {
  for (const [name, bench] of Object.entries(benches)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue;
    console.log(`\n${name}`);
    await bench(postgres, home);
  }
} finally {
  await postgres.stop();
  rmSync(home, { recursive: true, force: true });
}
process.exit(0);
