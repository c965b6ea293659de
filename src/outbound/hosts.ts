// Which hosts may be called from here: those of the configured list, however a URL writes them, and the addresses that their names lead to.
import ipaddr from 'ipaddr.js';

export interface AllowedHosts {
  /** Why the URL must not be called, in a sentence for whoever gave it; null where it may be. What its name resolves to is not asked. */
  readonly whyRefused: (url: string) => string | null;
  /** Whether to connect to an address (without brackets) for the name that resolved to it, or that is the address itself. */
  readonly mayConnect: (name: string, address: string, port: number) => boolean;
}

type Address = ReturnType<typeof ipaddr.parse>;

const maxLength = 2_000;

/** Of entries such as `example.org`, `10.0.0.7:8080` or `[::1]`. One with a port means that port, one without means every port. */
export function allowedHosts(list: readonly string[]): AllowedHosts {
  const listed = new Set(list.map(readEntry));
  const isListed = (host: string, port: number | string) => listed.has(`${host} ${port}`) || listed.has(`${host} *`);

  return {
    whyRefused(text) {
      const malformed = whyMalformed(text);
      if (malformed !== null) return malformed;
      const url = new URL(text);
      const host = canonical(url.hostname);
      const port = portOf(url);
      if (!isListed(host, port)) {
        return `${url.hostname}:${port} is not among the hosts that this server may call: add it to PACKHORSE_FETCH_HOSTS.`;
      }
      if (url.protocol === 'http:' && !isNear(host)) {
        return 'The URL must begin with https://: plain http is only for localhost and for loopback and private addresses.';
      }
      return null;
    },

    mayConnect(name, text, port) {
      const address = parseAddress(text);
      if (address === null) return false;
      if (isListed(address.toString(), port)) return true;
      // Plain http may go to localhost, so it must not lead anywhere else.
      if (name === 'localhost') return isListed(name, port) && address.range() === 'loopback';
      return isPublic(address);
    },
  };
}

/**
 * Of one URL that whoever runs this server has configured: its host and port, by its scheme, and nothing else. Its name may lead to where
 * services are, private networks too, but not to link-local and other addresses that have no business behind a name.
 */
export function pinnedHost(baseUrl: string): AllowedHosts {
  const base = new URL(baseUrl);
  const [host, port] = [canonical(base.hostname), portOf(base)];
  return {
    whyRefused(text) {
      const malformed = whyMalformed(text);
      if (malformed !== null) return malformed;
      const url = new URL(text);
      const isThat = url.protocol === base.protocol && canonical(url.hostname) === host && portOf(url) === port;
      return isThat ? null : `${url.hostname}:${portOf(url)} is not ${base.host}, which is configured.`;
    },

    mayConnect(name, text, at) {
      const address = parseAddress(text);
      if (address === null || at !== port || canonical(name) !== host) return false;
      if (host === 'localhost') return address.range() === 'loopback';
      return isPublic(address) || isNear(address.toString()) || address.toString() === host;
    },
  };
}

function whyMalformed(text: string): string | null {
  if (text.length > maxLength) return `The URL must be no longer than ${maxLength} characters.`;
  // A URL parser drops some of these and takes a backslash for a slash: others who read the text would see another host.
  if (/[\s\\\p{Cc}]/u.test(text)) return 'The URL must hold no spaces, control characters or backslashes.';
  if (!/^https?:\/\/[^/?#]/i.test(text) || !URL.canParse(text)) return 'Expected a URL such as https://example.org/path.';
  if (text.includes('#')) return 'The URL must have no fragment (the part from # on).';
  const url = new URL(text);
  return url.username !== '' || url.password !== '' ? 'The URL must hold no user name and no password.' : null;
}

/** The port that is meant where the URL names none, too. */
export function portOf({ protocol, port }: { readonly protocol: string; readonly port: string }): number {
  return Number(port || (protocol === 'http:' ? 80 : 443));
}

/** `host port`, the port `*` for every one. */
function readEntry(entry: string): string {
  const [, host = '', port] = /^(\[[^\]]+\]|[^:[\]]+)(?::(\d+))?$/.exec(entry) ?? [];
  if (host === '' || Number(port ?? 0) > 65_535 || !URL.canParse(`https://${host}`)) {
    throw new Error(`PACKHORSE_FETCH_HOSTS: expected host names or addresses, with or without a port, found ${entry}`);
  }
  return `${canonical(new URL(`https://${host}`).hostname)} ${port === undefined ? '*' : Number(port)}`;
}

/** One spelling for each host: what `URL` made of it, without brackets, and an IPv4 address in IPv6 as the IPv4 address. */
function canonical(hostname: string): string {
  const bare = hostname.replace(/^\[|\]$/g, '');
  return parseAddress(bare)?.toString() ?? bare;
}

function parseAddress(text: string): Address | null {
  return ipaddr.isValid(text) ? ipaddr.process(text) : null;
}

function isNear(host: string): boolean {
  return host === 'localhost' || ['loopback', 'private', 'uniqueLocal'].includes(parseAddress(host)?.range() ?? '');
}

/** The library calls every IPv6 range without a name `unicast`, `::/96` with its hidden IPv4 addresses among them: only 2000::/3 is given out. */
function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' || ((address.toByteArray()[0] ?? 0) & 0xe0) === 0x20;
}
