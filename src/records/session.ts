// A connection for one piece of bulk work: its settings, its temporary tables, and its end, whichever way that comes.
import type pg from 'pg';
import { prepareSession, resetSession } from './stage.ts';

/** `work` calls `settling` when it can no longer be cut off: from there on an abort comes too late. */
export async function inSession<T>(
  pool: pg.Pool,
  signal: AbortSignal,
  work: (client: pg.PoolClient, settling: () => void) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const client = await pool.connect();
  let gone = false;
  // Closing the connection ends whatever runs on it: the statement here at once, the backend when it next looks (0.5 s).
  const stop = () => {
    if (!gone) client.release(true);
    gone = true;
  };
  // A connection that is closed in mid-statement says so once more, later.
  const ignore = () => {};
  client.on('error', ignore);
  signal.addEventListener('abort', stop, { once: true });
  const settling = () => signal.removeEventListener('abort', stop);
  try {
    signal.throwIfAborted();
    await prepareSession(client);
    const result = await work(client, settling);
    settling();
    // The result stands, whatever becomes of the session now.
    const clean = await resetSession(client).then(
      () => true,
      () => false,
    );
    if (clean) client.off('error', ignore);
    client.release(!clean);
    return result;
  } catch (error) {
    const aborted = gone;
    // What is unexpected may have left the session in any state.
    stop();
    throw aborted ? signal.reason : error;
  } finally {
    settling();
  }
}
