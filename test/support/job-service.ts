// The example job service as a process of its own, which can be killed.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';

const main = path.resolve(import.meta.dirname, '../../examples/job-service/main.mjs');

export interface JobService {
  readonly url: string;
  /** SIGKILL, and waits for its end. */
  kill(): Promise<void>;
  /** The courteous way. Whoever starts it stops it. */
  stop(): Promise<void>;
}

/** `keys`: a file, or where they are. */
export async function startJobService(database: string, keys: string, port = 0): Promise<JobService> {
  const args = [main, '--database', database, '--keys', keys, '--port', String(port)];
  const child = spawn(process.execPath, args, { env: { PATH: process.env['PATH'] }, stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = () => end(child, 'SIGKILL');
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
  const [line] = (await Promise.race([
    once(child.stdout.setEncoding('utf8'), 'data'),
    once(child, 'exit').then(() => {
      throw new Error(`the job service ended: ${errors}`);
    }),
  ])) as [string];
  return { url: line.trim(), kill, stop: () => end(child, 'SIGTERM') };
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}
