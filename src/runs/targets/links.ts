// The two URLs that a remote job is given: its data, and a bell. Nothing is kept of them; what they may still do is asked of the step's row.
import { isSignatureOf, signText } from '../../auth/signed-text.ts';
import { NotFoundError } from '../../errors.ts';

export interface JobLinks {
  readonly secret: Uint8Array;
  readonly publicUrl: () => string;
}

export interface Attempt {
  readonly stepId: string;
  readonly attempt: number;
}

const dataSeconds = 7 * 86_400;

/** From when the attempt began, so that a submission that is sent again is the same to the last byte. */
export function jobLinks({ secret, publicUrl }: JobLinks, { stepId, attempt, submittedAt }: Attempt & { readonly submittedAt: Date }) {
  const expires = Math.floor(submittedAt.getTime() / 1_000) + dataSeconds;
  const data = `/jobs/${stepId}/${attempt}/data?expires=${expires}`;
  const callback = `/jobs/${stepId}/${attempt}/callback`;
  return {
    data: { url: `${publicUrl()}${data}&signature=${signText(secret, `GET ${data}`)}`, expiresAt: new Date(expires * 1_000) },
    callbackUrl: `${publicUrl()}${callback}?signature=${signText(secret, `POST ${callback}`)}`,
  };
}

// The signature is of the text, so that there is one way only to write a link.
const step = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
const dataForm = new RegExp(`^(/jobs/(${step})/(\\d{1,9})/data\\?expires=(\\d{1,12}))&signature=([\\w-]+)$`);
const callbackForm = new RegExp(`^(/jobs/(${step})/(\\d{1,9})/callback)\\?signature=([\\w-]+)$`);

/** By what follows the server's address. NotFoundError where it was never ours. */
export function readDataLink({ secret }: JobLinks, target: string): Attempt & { readonly expired: boolean } {
  const [, unsigned = '', stepId = '', attempt, expires, signature = ''] = dataForm.exec(target) ?? [];
  if (!isSignatureOf(secret, `GET ${unsigned}`, signature)) throw new NotFoundError('data');
  return { stepId, attempt: Number(attempt), expired: Number(expires) * 1_000 <= Date.now() };
}

export function readCallback({ secret }: JobLinks, target: string): Attempt {
  const [, unsigned = '', stepId = '', attempt, signature = ''] = callbackForm.exec(target) ?? [];
  if (!isSignatureOf(secret, `POST ${unsigned}`, signature)) throw new NotFoundError('job');
  return { stepId, attempt: Number(attempt) };
}
