// Whose the other end of a connection on this machine is, by the kernel's account.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { Socket } from 'node:net';

/** Of the processes, the one that a connection to us came from; null where it was none of them, or has ended. */
export function processBehind({ remotePort = 0, localPort = 0 }: Socket, pids: readonly number[]): number | null {
  const [own, other] = [remotePort, localPort].map((port) => `:${port.toString(16).toUpperCase().padStart(4, '0')}`);
  const inode = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .find(([, local, remote]) => local?.endsWith(own ?? '') && remote?.endsWith(other ?? ''))?.[9];
  const wanted = `socket:[${inode}]`;
  return pids.find((pid) => holds(pid, wanted)) ?? null;
}

function holds(pid: number, wanted: string): boolean {
  const folder = `/proc/${pid}/fd`;
  try {
    return readdirSync(folder).some((fd) => linkOf(`${folder}/${fd}`) === wanted);
  } catch {
    return false; // it has ended
  }
}

function linkOf(link: string): string | null {
  try {
    return readlinkSync(link);
  } catch {
    return null; // closed meanwhile
  }
}
