// `packhorse load PATH --workspace W`: from a package on this machine to rows in a workspace.
import { type Command, Option } from '@commander-js/extra-typings';
import {
  createWorkspaceDocument,
  dataRunDocument,
  registerDataRunDocument,
  rowErrorsDocument,
  startDataRunDocument,
  workspaceDocument,
} from '../client/documents.ts';
import type { RunFieldsFragment } from '../client/gql/graphql.ts';
import { type Connection, execute } from '../client/request.ts';
import { clientCommand, connect } from './connection.ts';
import { followProgress } from './follow-progress.ts';
import { exitCode, granted, notFound, outcomeOf, Refusal } from './outcome.ts';
import { tellPlan } from './plan.ts';
import { explanation, faultTable, rowTable } from './print.ts';
import type { Surroundings } from './surroundings.ts';
import { upload } from './upload.ts';

export const planFlag = ['--plan', 'start nothing: tell what the run would do, and its id'] as const;
export const watchFlag = ['--watch', 'show how far each dataset is, wait for the end, and tell what became of the rows'] as const;

const drivings = { background: 'BACKGROUND', 'on-request': 'ON_REQUEST' } as const;
const missingReferences = { block: 'BLOCK', fail: 'FAIL', reject: 'REJECT' } as const;
const invalidRows = { fail: 'FAIL', reject: 'REJECT' } as const;
const mismatches = { fail: 'FAIL', warn: 'WARN' } as const;

export function addLoad(program: Command, surroundings: Surroundings): void {
  clientCommand(program, 'load', 'load a data package: stage, register, start')
    .argument('<path>', 'a folder with a datapackage.json, a .zip of one, or a datapackage.json')
    .requiredOption('--workspace <slug>', 'where to load it')
    .option('--create', 'make the workspace if there is none')
    .option(...planFlag)
    .option(...watchFlag)
    .addOption(choice('--driving <who>', 'who drives the run', drivings, 'background'))
    .addOption(choice('--on-missing-reference <what>', 'what becomes of rows that point at nothing', missingReferences, 'block'))
    .addOption(choice('--on-invalid-row <what>', 'what becomes of rows that are not valid', invalidRows, 'fail'))
    .addOption(choice('--on-hash-mismatch <what>', 'what becomes of wrong sizes and hashes in the descriptor', mismatches, 'fail'))
    .option('--idempotency-key <key>', 'a second load with the same key is refused, for 24 hours')
    .action(async (place, options) => {
      const connection = connect(options, surroundings);
      const workspace = await findWorkspace(connection, options.workspace, options.create === true);
      const packageId = await upload(connection, workspace.id, place, surroundings);
      const { registerDataRun } = await execute(connection, registerDataRunDocument, {
        input: {
          workspaceId: workspace.id,
          packageId,
          driving: drivings[options.driving],
          onMissingReference: missingReferences[options.onMissingReference],
          onInvalidRow: invalidRows[options.onInvalidRow],
          onHashMismatch: mismatches[options.onHashMismatch],
          idempotencyKey: options.idempotencyKey ?? null,
        },
      });
      await carryOn(connection, granted(registerDataRun, 'DataRun'), options, surroundings);
    });
}

interface RegisteredOptions {
  readonly plan?: boolean | undefined;
  readonly watch?: boolean | undefined;
  readonly json?: boolean | undefined;
  readonly idempotencyKey?: string | null | undefined;
}

/** What is done with a run once it is registered. */
export async function carryOn(
  connection: Connection,
  { id }: { readonly id: string },
  { plan, watch, json = false, idempotencyKey = null }: RegisteredOptions,
  surroundings: Surroundings,
): Promise<void> {
  if (plan) return tellPlan(connection, id, surroundings, json);
  const { startDataRun } = await execute(connection, startDataRunDocument, { input: { dataRunId: id, idempotencyKey } });
  const started = granted(startDataRun, 'DataRun');
  if (json) surroundings.out(JSON.stringify({ type: 'started', run: started }));
  else surroundings.note(`run ${id} of ${started.package.name} is ${started.state} in workspace ${started.workspace.slug}`);
  if (!watch) {
    if (!json) surroundings.out(id);
    return surroundings.finish(exitCode.succeeded);
  }
  await followProgress(connection, started, { surroundings, json });
  const ended = await readRun(connection, id);
  await report(connection, ended, surroundings, json);
  surroundings.finish(outcomeOf(ended));
}

function choice<const Flags extends string, const Choices extends Readonly<Record<string, string>>>(
  flags: Flags,
  description: string,
  choices: Choices,
  fallback: keyof Choices & string,
) {
  const names = Object.keys(choices) as (keyof Choices & string)[]; // an object literal has no other keys
  return new Option(flags, description).choices(names).default(fallback);
}

async function findWorkspace(connection: Connection, slug: string, create: boolean): Promise<{ id: string; slug: string }> {
  const { workspace } = await execute(connection, workspaceDocument, { slug });
  if (workspace !== null) return workspace;
  if (!create) throw new Refusal('NOT_FOUND', `There is no workspace ${slug}, or it is not yours to see. --create makes it.`);
  const { createWorkspace } = await execute(connection, createWorkspaceDocument, { input: { slug, name: slug } });
  return granted(createWorkspace, 'Workspace');
}

export async function readRun(connection: Connection, id: string): Promise<RunFieldsFragment> {
  const { dataRun } = await execute(connection, dataRunDocument, { id });
  if (dataRun === null) throw notFound('data run');
  return dataRun;
}

/** What became of a run: the rows of each dataset, and why where it is not all well. */
export async function report(connection: Connection, run: RunFieldsFragment, { out }: Surroundings, json: boolean): Promise<void> {
  if (json) return out(JSON.stringify({ type: 'run', run }));
  for (const line of [...rowTable(run), ...explanation(run)]) out(line);
  if (run.failedStep !== null) for (const line of await faultyRows(connection, run.id)) out(line);
  out(`${run.state}${run.state === 'SUCCEEDED' ? (run.readiness.ready ? ', ready' : ', not ready') : ''}`);
}

async function faultyRows(connection: Connection, id: string): Promise<string[]> {
  const { dataRun } = await execute(connection, rowErrorsDocument, { id });
  return faultTable(dataRun?.failedStep?.rowErrors ?? []);
}
