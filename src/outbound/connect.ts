// Connections that go only where the list lets them: the address that was checked is the one that is connected to.
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { OutboundError, reasonOf } from './failure.ts';
import { type AllowedHosts, portOf } from './hosts.ts';

/** Every address of a host name. */
export type Resolve = (name: string) => Promise<readonly { readonly address: string; readonly family: number }[]>;

export const resolveByDns: Resolve = (name) => lookup(name, { all: true });

/** For undici's `connect`. All of its failures are OutboundErrors: ADDRESS_NOT_ALLOWED or CONNECT_FAILED. */
export function checkedConnector(hosts: AllowedHosts, resolve: Resolve, timeoutMs: number): buildConnector.connector {
  return (options, callback) => {
    const name = options.hostname.replace(/^\[|\]$/g, '');
    const port = portOf(options);
    const refusal = () =>
      new OutboundError(
        'ADDRESS_NOT_ALLOWED',
        `${name}:${port} leads to an address that is neither public nor listed in PACKHORSE_FETCH_HOSTS.`,
      );
    const fail = (error: Error) =>
      callback(
        error instanceof OutboundError
          ? error
          : new OutboundError('CONNECT_FAILED', `${name}:${port} cannot be reached (${reasonOf(error)}).`, { cause: error }),
        null,
      );
    // Nothing is looked up for an address.
    if (isIP(name) !== 0 && !hosts.mayConnect(name, name, port)) return fail(refusal());

    // One address that is not allowed spoils the others: a name that mixes them is up to something.
    const checkedLookup: LookupFunction = (_name, { all }, done) => {
      resolve(name).then(
        (addresses) => {
          const [first] = addresses;
          if (first === undefined || !addresses.every(({ address }) => hosts.mayConnect(name, address, port)))
            return done(refusal(), '', 0);
          return all === true ? done(null, [...addresses]) : done(null, first.address, first.family);
        },
        (error: Error) => done(error, '', 0),
      );
    };
    // One for each connection, because Node does not tell a lookup the port.
    buildConnector({ timeout: timeoutMs, lookup: checkedLookup })(options, (...[error, socket]) =>
      error === null ? callback(null, socket) : fail(error),
    );
  };
}
