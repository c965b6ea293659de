// The jobs: one row each, unique by key, so that the same key is the same job whatever else happens. A tombstone is a row as well.
import { load } from './load.mjs';

const tables = `
  CREATE TABLE IF NOT EXISTS job (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, key text NOT NULL UNIQUE, submission jsonb, state text NOT NULL,
    stop boolean NOT NULL DEFAULT false, done bigint NOT NULL DEFAULT 0, outcome jsonb NOT NULL DEFAULT '{}');
  CREATE TABLE IF NOT EXISTS record (
    workspace text NOT NULL, dataset text NOT NULL, key text NOT NULL, data jsonb NOT NULL, PRIMARY KEY (workspace, dataset, key))`;

const atOnce = 4;

export async function openJobs(pool) {
  await pool.query(tables);
  const running = new Map();
  const waiting = [];
  let closing = false;

  /** The row as the contract tells it. */
  function told(row) {
    if (row === undefined) return null;
    const { id, key, state, submission, done, outcome } = row;
    const progress = submission === null ? {} : { progress: { done: Number(done), total: submission.dataset.bytes, unit: 'bytes' } };
    return { id, state, idempotencyKey: key, ...progress, ...outcome };
  }
  const one = async (text, values) => told((await pool.query(text, values)).rows[0]);

  function begin(id) {
    waiting.push(id);
    while (running.size < atOnce && waiting.length > 0 && !closing) {
      const next = waiting.shift();
      const ending = new AbortController();
      const work = run(next, ending).catch((error) => console.error(error)); // its row still says running: it begins again with the next start
      running.set(next, { ending, work });
      work.finally(() => {
        running.delete(next);
        const after = waiting.shift();
        if (after !== undefined) begin(after);
      });
    }
  }

  async function run(id, ending) {
    const { rows } = await pool.query(`UPDATE job SET state = 'running' WHERE id = $1 AND state IN ('queued', 'running') RETURNING submission`, [id]);
    if (rows[0] === undefined) return;
    const { submission } = rows[0];
    const report = async (done) => {
      const kept = await pool.query(`UPDATE job SET done = greatest(done, $2) WHERE id = $1 RETURNING stop`, [id, done]);
      if (kept.rows[0].stop) ending.abort();
    };
    // A stop that came before anybody listened.
    await report(0);
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      const { state, ...outcome } = await load(client, submission, { signal: ending.signal, report });
      if (state === 'failed') await client.query('ROLLBACK; BEGIN');
      // In the transaction of the rows: either they are there and the job has succeeded, or neither. A stop that came first wins.
      const ended = await client.query(
        `UPDATE job SET state = $2, outcome = $3, done = CASE $2 WHEN 'failed' THEN done ELSE $4 END WHERE id = $1 AND NOT stop AND state = 'running'`,
        [id, state, outcome, submission.dataset.bytes],
      );
      if (ended.rowCount === 0) throw new Error('stopped');
      await client.query('COMMIT');
    } catch (error) {
      await client.query('ROLLBACK');
      if (closing) return;
      const { rowCount } = await pool.query(`UPDATE job SET state = 'cancelled' WHERE id = $1 AND stop AND state = 'running'`, [id]);
      if (rowCount === 0) {
        const failure = { code: 'LOAD_FAILED', summary: error.message, retryable: true };
        await pool.query(`UPDATE job SET state = 'failed', outcome = $2 WHERE id = $1 AND state = 'running'`, [id, { failure }]);
      }
    } finally {
      client.release();
    }
    await fetch(submission.callbackUrl, { method: 'POST', signal: AbortSignal.timeout(5_000) }).catch(() => {}); // Packhorse asks by itself, too
  }

  async function stopped(row) {
    if (row !== undefined) running.get(row.id)?.ending.abort();
    return told(row);
  }
  const stop = `stop = job.stop OR job.state IN ('queued', 'running'), state = CASE job.state WHEN 'queued' THEN 'cancelled' ELSE job.state END`;

  return {
    find: (by, what) => one(`SELECT * FROM job WHERE ${by === 'key' ? 'key' : 'id::text'} = $1`, [what]),
    async submit(key, submission) {
      const made = await one(`INSERT INTO job (key, submission, state) VALUES ($1, $2, 'queued') ON CONFLICT (key) DO NOTHING RETURNING *`, [
        key,
        submission,
      ]);
      if (made !== null) begin(made.id);
      return { job: made ?? (await this.find('key', key)), isNew: made !== null };
    },
    async cancel(id) {
      return stopped((await pool.query(`UPDATE job SET ${stop} WHERE id::text = $1 RETURNING *`, [id])).rows[0]);
    },
    async cancelByKey(key) {
      const text = `INSERT INTO job (key, state) VALUES ($1, 'cancelled') ON CONFLICT (key) DO UPDATE SET ${stop} RETURNING *`;
      return stopped((await pool.query(text, [key])).rows[0]);
    },
    /** What the last process left. */
    async goOn() {
      const { rows } = await pool.query(`SELECT id FROM job WHERE state IN ('queued', 'running') ORDER BY id`);
      for (const { id } of rows) begin(id);
    },
    async close() {
      closing = true;
      for (const { ending } of running.values()) ending.abort();
      await Promise.all([...running.values()].map(({ work }) => work));
    },
  };
}
