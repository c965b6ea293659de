// The floor to measure beside: node:http and pg, one statement a request, no rights, no GraphQL.
import { createServer } from 'node:http';
import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 10, options: '-c timezone=UTC' });

const statements: Record<string, { name: string; text: string }> = {
  // What a pause writes: the guarded move, the log's position and the event, in one statement.
  '/pause': {
    name: 'pause',
    text: `WITH moved AS (UPDATE data_run SET state = 'PAUSED', revision = revision + 1, last_sequence = last_sequence + 1, paused_at = clock_timestamp()
        WHERE id = $1 AND state = 'RUNNING' RETURNING id, workspace_id, last_sequence),
      log AS (UPDATE workspace_log l SET position = l.position + 1 FROM moved m WHERE l.workspace_id = m.workspace_id RETURNING l.position),
      appended AS (INSERT INTO lifecycle_event (workspace_id, position, data_run_id, sequence, action, from_state, to_state, actor)
        SELECT m.workspace_id, log.position, m.id, m.last_sequence, 'PAUSE', 'RUNNING', 'PAUSED', 'bench' FROM moved m, log)
      SELECT to_jsonb(r) AS answer FROM moved r`,
  },
  '/list': {
    name: 'list',
    text: `SELECT jsonb_agg(jsonb_build_object('id', r.id, 'state', r.state, 'package', r.package_name, 'at', r.last_position, 'steps',
        (SELECT jsonb_agg(jsonb_build_object('dataset', s.dataset, 'state', s.state, 'done', s.progress_done, 'total', s.progress_total, 'loaded', s.rows_loaded) ORDER BY s.position)
         FROM data_run_step s WHERE s.run_id = r.id))) AS answer
      FROM (SELECT r.* FROM data_run r JOIN workspace w ON w.id = r.workspace_id AND w.slug = $1 ORDER BY r.id DESC LIMIT 50) r`,
  },
};

const server = createServer((request, response) => {
  const statement = statements[request.url ?? ''];
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    if (statement === undefined) return void response.writeHead(404).end();
    const { value } = JSON.parse(Buffer.concat(parts).toString());
    pool.query({ ...statement, values: [value] }).then(
      ({ rows }) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(rows[0]?.answer ?? null)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
});
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  console.log(`http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`);
});
process.on('SIGTERM', () => process.exit(0));
