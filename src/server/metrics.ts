// What a server counts, in Prometheus' words. Anybody may read it: numbers only, nothing of a tenant, and no label that a client could choose.
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { App } from '../graphql/context.ts';

export interface Metrics {
  readonly contentType: string;
  text(): Promise<string>;
}

export function metricsOf({ bell, fan, delivered }: Pick<App, 'bell' | 'fan' | 'delivered'>): Metrics {
  const registry = new Registry(); // not the library's own, which all servers of a process would share
  const registers = [registry];
  const counter = (name: string, help: string, read: () => number) =>
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(read());
      },
    });

  counter('packhorse_events_delivered_total', 'Results of subscriptions that were sent to sockets.', delivered);
  gauge('packhorse_subscribers', 'Subscriptions that are open on sockets.', () => fan.counts().subscribers);
  gauge('packhorse_shared_streams', 'Streams of events that subscribers share.', () => fan.counts().streams);
  gauge('packhorse_listen_connected', '1 while the connection that hears notices is there, else 0.', () => Number(bell.counts().connected));
  counter(
    'packhorse_listen_reconnects_total',
    'How often the connection that hears notices was made again.',
    () => bell.counts().reconnects,
  );
  counter(
    'packhorse_events_found_by_poll_total',
    'Events of which no notice came, found after the poll period. Where it grows, NOTIFY is lost.',
    () => bell.counts().foundByPoll,
  );
  new Counter({
    name: 'packhorse_notices_total',
    help: 'Topics that this process rang (own) and that it heard from others (other).',
    labelNames: ['kind'],
    registers,
    collect() {
      const { own, other } = bell.counts();
      this.reset();
      this.inc({ kind: 'own' }, own);
      this.inc({ kind: 'other' }, other);
    },
  });
  return {
    contentType: registry.contentType,
    text: () => Registry.merge([registry, processMetrics()]).metrics(),
  };
}

let ofProcess: Registry | undefined;

/** One for all servers, made when first asked for: what it watches garbage collection and the event loop with is never taken down again. */
function processMetrics(): Registry {
  if (ofProcess !== undefined) return ofProcess;
  ofProcess = new Registry();
  collectDefaultMetrics({ register: ofProcess });
  ofProcess.removeSingleMetric('nodejs_version_info'); // no number, and a help to whoever looks for a hole
  return ofProcess;
}
