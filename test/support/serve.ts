// The entry of a Packhorse process of its own: the environment is its configuration, its first line on stdout is its URL.
import { readConfig } from '../../src/config.ts';
import { createLog } from '../../src/log.ts';
import { startPackhorse } from '../../src/main.ts';

// Whoever started it is gone: so is this.
process.stdin.on('end', () => process.exit(1)).resume();
(process.stdin as { unref?: () => void }).unref?.();

const config = readConfig(process.env);
const packhorse = await startPackhorse(config, createLog(config));
process.stdout.write(`${packhorse.url}\n`);
// It must end by itself once everything is stopped.
process.once('SIGTERM', () => void packhorse.stop());
