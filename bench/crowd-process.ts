// Thousands of subscribers in a process of their own, as cheap as Node can have them, so that the server and not they are measured: plain
// sockets, one buffer for all reads, frames counted by the number that stands in them as "#n#" and not decoded.
import { connect, type Socket } from 'node:net';
import { clock } from './support.ts';

/** What a subscriber says, in order; `%ID%` stands for an id of its own. */
export interface Greeting {
  readonly protocol: string | null;
  /** Answered by `connection_ack`, then it subscribes. */
  readonly init: string | null;
  readonly subscribe: string | null;
}

export type ToCrowd =
  | {
      readonly ask: 'open';
      readonly host: string;
      readonly port: number;
      readonly path: string;
      readonly size: number;
      readonly greeting: Greeting;
    }
  | { readonly ask: 'reached'; readonly event: number }
  | { readonly ask: 'report'; readonly from: number; readonly to: number };

export type FromCrowd =
  | { readonly is: 'open' }
  | { readonly is: 'reached'; readonly event: number }
  | { readonly is: 'report'; readonly report: CrowdReport };

export interface CrowdReport {
  /** Of each event asked for: how many have it, and since when the last of them has (`clock`). */
  readonly events: readonly { readonly count: number; readonly last: number }[];
  /** Events that came to somebody twice, late, or after a gap; and sockets that are gone. */
  readonly faults: number;
  readonly closed: number;
  /** So far, of this process. */
  readonly cpuSeconds: number;
  readonly messages: number;
}

const atOnce = 64; // that connect; more would overrun the server's backlog
const longest = 100_000; // events of one crowd
const [marker, zero, text, ping] = [0x23, 0x30, 0x81, 0x89];
const pong = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);

const counts = new Uint32Array(longest);
const lasts = new Float64Array(longest);
let [size, up, messages, faults, closed, awaited] = [0, 0, 0, 0, 0, -1];
/** Where the number stood in the last frame: all frames of one server are alike. */
let hint = 0;

const tell = (said: FromCrowd) => void process.send?.(said);

/** A client's frame, masked with zeros: the protocol wants a mask, not a good one. */
function frame(said: string): Buffer {
  const body = Buffer.from(said);
  const head = body.length < 126 ? [text, 0x80 | body.length] : [text, 0xfe, body.length >> 8, body.length & 255];
  return Buffer.concat([Buffer.from([...head, 0, 0, 0, 0]), body]);
}

class Subscriber {
  readonly socket: Socket;
  private stage: 'upgrading' | 'greeting' | 'up' = 'upgrading';
  private rest: Buffer | null = null;
  private expected = -1;
  private readonly id: string;
  private readonly greeting: Greeting;

  constructor(index: number, { host, port, path, greeting }: ToCrowd & { ask: 'open' }, buffer: Buffer) {
    this.id = `${index.toString(16).padStart(8, '0')}-1111-4222-8333-444444444444`; // as long as those that clients give
    this.greeting = greeting;
    // One buffer for all: on Unix libuv reads into it and calls back before it reads again.
    const onread = { buffer, callback: (length: number) => this.read(buffer, length) };
    this.socket = connect({ host, port, noDelay: true, onread } as never); // @types/node lacks onread here
    const protocol = greeting.protocol === null ? '' : `Sec-WebSocket-Protocol: ${greeting.protocol}\r\n`;
    this.socket.write(
      `GET ${path} HTTP/1.1\r\nHost: ${host}:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n` +
        `Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${protocol}\r\n`,
    );
    this.socket.on('error', () => {}); // 'close' follows
    this.socket.on('close', () => {
      closed++;
    });
  }

  private read(shared: Buffer, length: number): boolean {
    const now = clock();
    let bytes = shared;
    let end = length;
    if (this.rest !== null) {
      bytes = Buffer.concat([this.rest, shared.subarray(0, length)]);
      end = bytes.length;
      this.rest = null;
    }
    let at = this.stage === 'upgrading' ? this.upgrade(bytes, end) : 0;
    while (end - at >= 2) {
      const short = (bytes[at + 1] ?? 0) & 127;
      if (short === 127) throw new Error('a frame of more than 65,535 bytes');
      const head = short < 126 ? 2 : 4;
      if (end - at < head) break;
      const body = short < 126 ? short : ((bytes[at + 2] ?? 0) << 8) | (bytes[at + 3] ?? 0);
      if (end - at < head + body) break;
      this.take(bytes, at, at + head, at + head + body, now);
      at += head + body;
    }
    if (at < end) this.rest = Buffer.from(bytes.subarray(at, end));
    return true;
  }

  /** How much of it was the answer to the upgrade. */
  private upgrade(bytes: Buffer, end: number): number {
    const answer = bytes.toString('latin1', 0, end);
    const over = answer.indexOf('\r\n\r\n');
    if (over < 0) return 0;
    if (!answer.startsWith('HTTP/1.1 101')) throw new Error(`the upgrade was refused: ${answer.slice(0, over)}`);
    if (this.greeting.init === null) this.isUp();
    else this.socket.write(frame(this.greeting.init));
    if (this.greeting.init !== null) this.stage = 'greeting';
    return over + 4;
  }

  private isUp(): void {
    if (this.greeting.subscribe !== null) this.socket.write(frame(this.greeting.subscribe.replace('%ID%', this.id)));
    this.stage = 'up';
    up++;
    connectMore();
    if (up === size) tell({ is: 'open' });
  }

  private take(bytes: Buffer, start: number, from: number, to: number, now: number): void {
    if (bytes[start] === ping) return void this.socket.write(pong);
    if (bytes[start] !== text) return;
    if (this.stage === 'greeting') {
      if (bytes.toString('latin1', from, to).includes('"connection_ack"')) this.isUp();
      return;
    }
    let place = from + hint;
    // The hint may lie at the end of a number: one socket is at event 10 before the next has had its 9.
    if (bytes[place] !== marker || !isDigit(bytes[place + 1]) || place >= to) {
      place = bytes.indexOf(marker, from);
      if (place < 0 || place >= to) throw new Error(`unexpected: ${bytes.toString('utf8', from, to)}`);
      hint = place - from;
    }
    let event = 0;
    while (bytes[++place] !== marker) event = event * 10 + (bytes[place] ?? 0) - zero;
    messages++;
    if (this.expected >= 0 && event !== this.expected) faults++;
    this.expected = event + 1;
    lasts[event] = now;
    const count = (counts[event] ?? 0) + 1;
    counts[event] = count;
    if (event === awaited && count === size) tell({ is: 'reached', event: awaited });
  }
}

const isDigit = (byte: number | undefined) => byte !== undefined && byte >= zero && byte < zero + 10;

let connectMore = () => {};

function open(where: ToCrowd & { ask: 'open' }): void {
  const buffer = Buffer.allocUnsafe(65_536);
  let started = 0;
  size = where.size;
  connectMore = () => {
    while (started < size && started - up < atOnce) new Subscriber(started++, where, buffer);
  };
  connectMore();
}

function report(from: number, to: number): CrowdReport {
  const { user, system } = process.cpuUsage();
  const events = Array.from({ length: to - from }, (_, n) => ({ count: counts[from + n] ?? 0, last: lasts[from + n] ?? 0 }));
  return { events, faults, closed, cpuSeconds: (user + system) / 1e6, messages };
}

process.on('message', (said: ToCrowd) => {
  if (said.ask === 'open') open(said);
  else if (said.ask === 'report') tell({ is: 'report', report: report(said.from, said.to) });
  else {
    awaited = said.event;
    if (counts[awaited] === size) tell({ is: 'reached', event: awaited });
  }
});
process.on('disconnect', () => process.exit(0));
