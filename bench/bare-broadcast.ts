// The least that tells many sockets something: one LISTEN connection, and the same text to all.
import { createServer } from 'node:http';
import pg from 'pg';
import { type WebSocket, WebSocketServer } from 'ws';

const client = new pg.Client({ connectionString: process.env['DATABASE_URL'] });
await client.connect();
await client.query('LISTEN bare');
const server = createServer();
const sockets = new Set<WebSocket>();
new WebSocketServer({ server, perMessageDeflate: false }).on('connection', (socket) => {
  sockets.add(socket);
  socket.on('close', () => sockets.delete(socket));
  socket.on('error', () => {});
});
client.on('notification', ({ payload = '' }) => {
  const bytes = Buffer.from(payload); // once for all
  for (const socket of sockets) socket.send(bytes, { binary: false });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  console.log(`http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`);
});
process.on('SIGTERM', () => process.exit(0));
