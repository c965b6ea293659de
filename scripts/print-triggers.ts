// Prints the trigger functions that the lifecycle tables ask for; paste into a new migration when a table has changed.
import { deliveryLifecycle, exportLifecycle, packageLifecycle } from '../src/exports/lifecycle.ts';
import { triggerSql } from '../src/lifecycle/describe.ts';
import { runLifecycle, stepLifecycle } from '../src/runs/lifecycle.ts';

export const triggerFunctions = {
  data_run_guard: triggerSql(runLifecycle, { fn: 'data_run_guard', settled: ['settled_at', 'failure', 'failed_dataset'] }),
  data_run_step_guard: triggerSql(stepLifecycle, { fn: 'data_run_step_guard', settled: ['settled_at', 'failure'] }),
  export_execution_guard: triggerSql(exportLifecycle, {
    fn: 'export_execution_guard',
    settled: ['settled_at', 'failure', 'counts', 'manifest_digest'],
  }),
  export_package_guard: triggerSql(packageLifecycle, { fn: 'export_package_guard', settled: ['published_at', 'failure', 'digest'] }),
  export_delivery_guard: triggerSql(deliveryLifecycle, { fn: 'export_delivery_guard', settled: ['delivered_at', 'failure'] }),
};

if (process.argv[1] === import.meta.filename) console.log(Object.values(triggerFunctions).join('\n'));
