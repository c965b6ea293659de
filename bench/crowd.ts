// A crowd of subscribers, played by a process of its own.
import { spawn } from 'node:child_process';
import { on, once } from 'node:events';
import type { CrowdReport, FromCrowd, Greeting, ToCrowd } from './crowd-process.ts';
import { withSockets } from './support.ts';

export interface Crowd {
  /** Resolves when everybody has the event; rejects after the limit, saying how many have. */
  reached(event: number, limitMs: number): Promise<void>;
  /** Of the events from `from` up to before `to`. */
  report(from: number, to: number): Promise<CrowdReport>;
  close(): Promise<void>;
}

/** Resolves when all have subscribed, as far as they know. */
export async function openCrowd(url: string, greeting: Greeting, size: number): Promise<Crowd> {
  const [command, ...args] = withSockets(size, [process.execPath, '--import', 'tsx', 'bench/crowd-process.ts']);
  const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const exited = once(child, 'exit');
  /** The first that is wanted of what it says; the answer to a question that was given up may still come. */
  const hear = async <T>(want: (said: FromCrowd) => T | undefined, limitMs: number): Promise<T> => {
    for await (const [said] of on(child, 'message', { signal: AbortSignal.timeout(limitMs), close: ['exit'] })) {
      const wanted = want(said);
      if (wanted !== undefined) return wanted;
    }
    throw new Error('the crowd has ended');
  };
  const ask = (said: ToCrowd) => child.send(said);
  const report = async (from: number, to: number) => {
    const heard = hear((said) => (said.is === 'report' ? said.report : undefined), 10_000);
    ask({ ask: 'report', from, to });
    return heard;
  };
  const close = async () => {
    if (child.connected) child.disconnect();
    await exited;
  };
  const { hostname: host, port, pathname: path } = new URL(url);
  try {
    const opened = hear((said) => said.is === 'open' || undefined, 120_000);
    ask({ ask: 'open', host, port: Number(port), path, size, greeting });
    await opened;
  } catch (error) {
    child.kill();
    throw error;
  }
  return {
    async reached(event, limitMs) {
      try {
        const all = hear((said) => (said.is === 'reached' && said.event === event) || undefined, limitMs);
        ask({ ask: 'reached', event });
        await all;
      } catch {
        const { events, closed } = await report(event, event + 1);
        throw new Error(`event ${event} reached ${events[0]?.count} of ${size}; ${closed} sockets are closed`);
      }
    },
    report,
    close,
  };
}
