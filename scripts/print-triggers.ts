// Prints the trigger functions that the lifecycle tables ask for; paste into a new migration when a table has changed.
import { exportLifecycle } from '../src/exports/lifecycle.ts';
import { triggerSql } from '../src/lifecycle/describe.ts';
import { runLifecycle, stepLifecycle } from '../src/runs/lifecycle.ts';

export const triggerFunctions = {
  data_run_guard: triggerSql(runLifecycle, { fn: 'data_run_guard', settled: ['settled_at', 'failure', 'failed_dataset'] }),
  data_run_step_guard: triggerSql(stepLifecycle, { fn: 'data_run_step_guard', settled: ['settled_at', 'failure'] }),
  export_execution_guard: triggerSql(exportLifecycle, {
    fn: 'export_execution_guard',
    settled: ['settled_at', 'failure', 'counts', 'manifest_digest'],
  }),
};

if (process.argv[1] === import.meta.filename) console.log(Object.values(triggerFunctions).join('\n'));
