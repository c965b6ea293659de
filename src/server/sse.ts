// Subscriptions over server-sent events: each event with its cursor as its id, after which a client that comes again goes on.
import type { ExecutionResult } from 'graphql';
import { isAsyncIterable, type Plugin } from 'graphql-yoga';
import { encodeCursor } from '../events/cursor.ts';
import type { StreamPlace } from '../events/follow.ts';
import type { Context } from '../graphql/context.ts';

/** How far the stream that answers a request has come. */
interface Reached {
  /** Of the event that is given, or up to which all is. Null of progress, which has none. */
  cursor: string | null;
}

const comment = ':\n\n'; // some browsers hand nothing on before the first byte
const headers = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' };

/** In place of yoga’s own streams, which have no ids. `keepAliveMs`: how long a stream may be silent at most. */
export function eventStreams(keepAliveMs = 12_000): Plugin<Context> {
  const streams = new WeakMap<Request, Reached>();
  return {
    onSubscribe({ args, extendContext }) {
      const { place, request } = args.contextValue;
      if (place !== undefined) return; // a socket's
      const reached: Reached = { cursor: null };
      const own: StreamPlace = {
        from: null,
        after: request.headers.get('last-event-id') || null, // a browser whose last id was empty has none
        at(position, workspaceId) {
          reached.cursor = encodeCursor(workspaceId, position);
        },
        atTail: () => {},
      };
      extendContext({ place: own });
      streams.set(request, reached);
    },
    onResultProcess(hook) {
      const { request, result, resultProcessor } = hook;
      const reached = streams.get(request);
      if (reached === undefined || resultProcessor === undefined || !isAsyncIterable(result)) return; // not a stream, or not acceptable
      const stream = streamOf(result, reached, keepAliveMs);
      hook.setResultProcessor(
        (_, { ReadableStream, Response }) => new Response(new ReadableStream(stream), { headers }),
        headers['content-type'],
      );
    },
  };
}

/** Asks for the next result when the reader has room for it: whoever reads slowly just reads later. */
function streamOf(results: AsyncIterable<ExecutionResult>, reached: Reached, keepAliveMs: number): UnderlyingDefaultSource<Uint8Array> {
  const encoder = new TextEncoder();
  const iterator = results[Symbol.asyncIterator]();
  let keepAlive: NodeJS.Timeout | undefined;
  let waiting = false; // for a result; otherwise for the reader, and more would pile up
  return {
    start(controller) {
      controller.enqueue(encoder.encode(comment));
      keepAlive = setInterval(() => {
        if (waiting) controller.enqueue(encoder.encode(comment));
      }, keepAliveMs);
    },
    async pull(controller) {
      const end = (words: string) => {
        clearInterval(keepAlive);
        controller.enqueue(encoder.encode(words));
        controller.close();
      };
      try {
        waiting = true;
        const { done, value } = await iterator.next();
        waiting = false;
        if (done === true) return end('event: complete\ndata:\n\n');
        const { cursor } = reached; // results are asked for one at a time, so it is this one's
        controller.enqueue(encoder.encode(`${cursor === null ? '' : `id: ${cursor}\n`}event: next\ndata: ${JSON.stringify(value)}\n\n`));
      } catch {
        end(''); // and not complete. Yoga makes results of all errors but those of a reader that has gone
      }
    },
    async cancel() {
      clearInterval(keepAlive);
      await iterator.return?.();
    },
  };
}
