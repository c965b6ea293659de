// The list of exports: at a cost that does not grow with its length.
import { beforeAll, expect, it } from 'vitest';
import { startApp } from '../support/app.ts';
import { statementsOf } from '../support/statements.ts';
import { uuidOf } from '../support/states.ts';
import { createWorkspace } from '../support/story.ts';

const app = await startApp({ worker: false, env: { PACKHORSE_MAX_COMPLEXITY: '20000' } });
const statements = statementsOf(app);
const { pool } = app.app.db;

beforeAll(async () => {
  const workspaceId = uuidOf(await createWorkspace(app, 'lists'));
  await pool.query(
    `WITH e AS (INSERT INTO export_execution (id, workspace_id, requested_by, settings, plan, cutoff, cutoff_snapshot)
       SELECT gen_random_uuid(), $1, 'ann', '{"revision":0,"format":"CSV","datasets":null,"retentionDays":1,"destinations":[]}', '[]', '2026-11-30T20:07:00.000001Z', '1:1:'
       FROM generate_series(1, 1) RETURNING id, workspace_id) SELECT 1`,
    [workspaceId],
  );
  await pool.query(`UPDATE export_execution SET state = 'CANCELLED', settled_at = now()`);
  for (let round = 0; round < 29; round++) {
    await pool.query(
      `INSERT INTO export_execution SELECT (jsonb_populate_record(t, jsonb_build_object('id', gen_random_uuid(), 'state', 'QUEUED', 'settled_at', null))).* FROM export_execution t LIMIT 1`,
    );
    await pool.query(`UPDATE export_execution SET state = 'CANCELLED', settled_at = now() WHERE state = 'QUEUED'`);
  }
  await pool.query(
    `INSERT INTO export_package (id, execution_id, workspace_id) SELECT gen_random_uuid(), id, workspace_id FROM export_execution`,
  );
  await pool.query(
    `INSERT INTO export_delivery (id, package_id, destination, url, secret, webhook_id) SELECT gen_random_uuid(), id, 'd' || n, 'u', 's', 'w' FROM export_package, generate_series(1, 3) n`,
  );
});

it('takes as many statements for thirty as for two, with packages, deliveries and everything of them', async () => {
  const count = async (first: number) => {
    const query = `query ($first: Int) { workspace(slug: "lists") { exportExecutions(first: $first) { edges { cursor node {
      id state phase cutoff manifestDigest requestedBy requestedAt lastEventCursor allowedActions whyNotRunning { code } settings { format destinations { name } }
      progress { done total } counts { dataset } failure { code } workspace { slug }
      exportPackage { id state bytes digest failure { code } deliveries { id destination state attempts failure { code } attemptLog { number } } } } } } } }`;
    await app.graphql(query, { first });
    statements.length = 0;
    const { data, errors } = await app.graphql(query, { first });
    expect(errors).toEqual([]);
    const { edges } = data.workspace.exportExecutions;
    expect(edges).toHaveLength(first);
    expect(edges[0].node.exportPackage.deliveries).toHaveLength(3);
    return [...statements];
  };
  const two = await count(2);
  const thirty = await count(30);
  expect(thirty).toHaveLength(two.length);
  expect(two.length).toBeLessThanOrEqual(3);
  // Neither the digests of blocks nor plans nobody asked for are read.
  expect(thirty.join('\n')).not.toContain('"blocks"');
});
