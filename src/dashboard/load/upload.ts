// A package brought to the server by the page: staged, uploaded while its bytes are counted, registered.
import type { Client } from 'urql';
import { registerDataRunDocument, stagePackageDocument } from '../../client/documents.ts';
import type { RegisterDataRunInput } from '../../client/gql/graphql.ts';
import { sentenceOf, typed } from '../api.ts';

export interface PackageProblem {
  readonly code: string;
  readonly pointer: string | null;
  readonly resource: string | null;
  readonly message: string;
}

/** One sentence for a person, and what is wrong with the package. */
export class LoadRefused extends Error {
  override readonly name = 'LoadRefused';
  readonly problems: readonly PackageProblem[];
  constructor(message: string, problems: readonly PackageProblem[] = []) {
    super(message);
    this.problems = problems;
  }
}

interface Refusal {
  readonly __typename: string;
  readonly message?: string;
  readonly problems?: readonly PackageProblem[];
}

/** The id of the run that was registered as `how` says. `onBytes` is told of what was sent. */
export async function bring(
  client: Client,
  how: Omit<RegisterDataRunInput, 'packageId'>,
  file: File,
  onBytes: (sent: number) => void,
  signal: AbortSignal,
): Promise<string> {
  const staged = await client.mutation(typed(stagePackageDocument), { input: { workspaceId: how.workspaceId } });
  if (staged.error !== undefined) throw new LoadRefused(sentenceOf(staged.error));
  const place = staged.data?.stagePackage;
  if (place?.__typename !== 'StagedPackage') throw refused(place);
  await put(place.uploadUrl, file, onBytes, signal);
  const registered = await client.mutation(typed(registerDataRunDocument), { input: { ...how, packageId: place.packageId } });
  if (registered.error !== undefined) throw new LoadRefused(sentenceOf(registered.error));
  const run = registered.data?.registerDataRun;
  if (run?.__typename !== 'DataRun') throw refused(run);
  return run.id;
}

function refused(answer: Refusal | undefined): LoadRefused {
  return new LoadRefused(answer?.message ?? 'The server did not say what became of it.', answer?.problems);
}

/** By XMLHttpRequest, since fetch does not tell how much was sent. */
function put(uploadUrl: string, file: File, onBytes: (sent: number) => void, signal: AbortSignal): Promise<void> {
  const { pathname, search } = new URL(uploadUrl); // of this origin, whatever name the server knows itself by
  const stopped = () => new LoadRefused('The upload was stopped. Nothing was loaded.');
  if (signal.aborted) return Promise.reject(stopped()); // while it was staged
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.upload.onprogress = ({ loaded }) => onBytes(loaded);
    request.onload = () => (request.status === 201 ? resolve() : reject(refusalOf(request)));
    request.onerror = () => reject(new LoadRefused('The server could not be reached, or ended the upload.'));
    request.onabort = () => reject(stopped());
    signal.addEventListener('abort', () => request.abort(), { once: true });
    request.open('PUT', pathname + search);
    request.send(file);
  });
}

function refusalOf({ status, responseText }: XMLHttpRequest): LoadRefused {
  try {
    const answer = JSON.parse(responseText) as Partial<Refusal>; // what is not there is not said
    return new LoadRefused(answer.message ?? `The upload was answered with ${status}.`, answer.problems);
  } catch {
    return new LoadRefused(`The upload was answered with ${status}.`);
  }
}
