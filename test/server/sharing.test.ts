import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { outletOf } from '../../src/server/sharing.ts';

/** Both ends of a connection, the server's with an outlet, and what the client is told. */
async function ends(id: string) {
  const server = createServer();
  const wss = new WebSocketServer({ server });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const told: string[] = [];
  client.on('message', (data: Buffer) => told.push(data.toString()));
  const [socket, request] = (await once(wss, 'connection')) as [WebSocket, IncomingMessage];
  onTestFinished(() => {
    client.terminate();
    wss.close();
    server.close();
  });
  return { client, socket, wire: request.socket, told, outlet: outletOf(socket, request.socket, id) };
}

it('a shared payload arrives whole whatever its length, among what the socket itself sends', async () => {
  const { client, socket, told, outlet } = await ends('ä"1');
  const around = (limit: number) => [-60, -2, -1, 0, 1, 2].map((more) => limit + more);
  const head = Buffer.byteLength(`{"id":${JSON.stringify('ä"1')},"type":"next","payload":}`);
  const texts = [...around(126 - head), ...around(65_536 - head)]
    .filter((length) => length > 4)
    .map((length) => 'é'.padEnd(length - 3, '.'));
  const expected: unknown[] = [];
  for (const [index, text] of texts.entries()) {
    expect(outlet.send([Buffer.from(JSON.stringify(text))])).toBe(true);
    socket.send(JSON.stringify(index));
    expected.push({ id: 'ä"1', type: 'next', payload: text }, index);
    await once(client, 'message'); // or the outlet would be full
    await expect.poll(() => told.length).toBe(expected.length);
  }
  expect(told.map((text) => JSON.parse(text))).toEqual(expected);
  expect(new Set(told.map((text) => Buffer.byteLength(text)))).toSatisfy((lengths: Set<number>) =>
    [125, 126, 65_535, 65_536].every((length) => lengths.has(length)),
  );
});

it('payloads that are sent together arrive as a message each, by one write', async () => {
  const { wire, told, outlet } = await ends('1');
  const texts = [3, 200, 70_000, 5].map((length) => 'x'.repeat(length));
  let writes = 0;
  const write = wire.write.bind(wire);
  wire.write = ((data: Buffer) => {
    writes++;
    return write(data);
  }) as typeof wire.write;
  expect(outlet.send(texts.map((text) => Buffer.from(JSON.stringify(text))))).toBe(true);
  await expect.poll(() => told.length).toBe(4);
  expect(told.map((text) => JSON.parse(text).payload)).toEqual(texts);
  expect(writes).toBe(1);
});

it('nothing is sent after the closing frame, and the client sees a proper close', async () => {
  const { client, socket, wire, told, outlet } = await ends('1');
  outlet.send([Buffer.from('1')]);
  socket.close(1000);
  const written = wire.bytesWritten; // the client would pass over what follows
  outlet.send([Buffer.from('2')]);
  expect(wire.bytesWritten).toBe(written);
  const [code] = await once(client, 'close');
  expect(code).toBe(1000);
  expect(told).toEqual(['{"id":"1","type":"next","payload":1}']);
});
