// The command line as a person runs it: a process of its own.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, expect } from 'vitest';
import { built } from './built.ts';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly child: ChildProcess;
  stdout(): string;
  stderr(): string;
  readonly ended: Promise<Ended>;
}

const running = new Set<ChildProcess>();
afterAll(async () => {
  for (const child of running) {
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});

/** Nothing of this process's environment reaches it but what a shell would need. */
export function start(args: readonly string[], env: Record<string, string> = {}): Running {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, [...built, ...args], {
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.add(child);
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = new Promise<Ended>((resolve) => {
    child.once('close', (code) => {
      running.delete(child);
      resolve({ code, stdout, stderr });
    });
  });
  return { child, stdout: () => stdout, stderr: () => stderr, ended };
}

export function packhorse(args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  return start(args, env).ended;
}

/** What programs read: every line of stdout is JSON. */
export function jsonLines(stdout: string): Record<string, unknown>[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** A fault as a person should see it: one line, no stack. */
export function expectOneLine(stderr: string, text: string | RegExp): void {
  expect(stderr.trimEnd().split('\n'), stderr).toHaveLength(1);
  expect(stderr).toMatch(text);
  expect(stderr).not.toMatch(/\n\s+at /);
}
