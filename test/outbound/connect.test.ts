import { describe, expect, it } from 'vitest';
import { checkedConnector } from '../../src/outbound/connect.ts';
import { allowedHosts } from '../../src/outbound/hosts.ts';
import { receiver } from './receiver.ts';

describe('a connection to an address, for which no name is looked up', () => {
  it.each(['127.0.0.1', '[::ffff:127.0.0.1]', '[::1]'])('is not made to %s where that is not listed', async (hostname) => {
    const canary = await receiver((response) => response.end());
    const { port } = new URL(canary.url);
    const resolve = () => Promise.reject(new Error('was asked'));
    const connect = checkedConnector(allowedHosts(['example.org', '10.0.0.7', '127.0.0.1:9']), resolve, 1_000);
    const error = await new Promise((done) => connect({ hostname, protocol: 'http:', port }, (...[failure]) => done(failure)));
    expect(error).toMatchObject({ code: 'ADDRESS_NOT_ALLOWED' });
    expect(canary.connections()).toBe(0);
  });
});
