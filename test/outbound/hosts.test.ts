import { describe, expect, it } from 'vitest';
import { allowedHosts, pinnedHost } from '../../src/outbound/hosts.ts';

const hosts = allowedHosts([
  'example.org',
  'hooks.example.org:8443',
  'localhost:9000',
  '127.0.0.1:9001',
  '10.0.0.7',
  '93.184.216.34',
  '[fd00::7]:9002',
  'xn--bcher-kva.example',
]);

describe('a URL that is saved', () => {
  it.each([
    'https://example.org',
    'https://example.org/',
    'https://EXAMPLE.org:8443/a/b?token=x%20y',
    'https://hooks.example.org:8443/',
    'http://localhost:9000/hook',
    'https://localhost:9000/hook',
    'http://127.0.0.1:9001/',
    'http://2130706433:9001/',
    'http://[::ffff:127.0.0.1]:9001/',
    'http://10.0.0.7/',
    'https://10.0.0.7:1234/',
    'https://93.184.216.34/',
    'http://[fd00::7]:9002/',
    'http://[FD00:0:0::0007]:9002/',
    'https://bücher.example/',
    'https://xn--bcher-kva.example/',
    `https://example.org/${'a'.repeat(1_980)}`,
  ])('may be %s', (url) => {
    expect(hosts.whyRefused(url)).toBeNull();
  });

  it.each<[sentence: RegExp, urls: readonly string[]]>([
    [
      /PACKHORSE_FETCH_HOSTS/,
      [
        // loopback in all its spellings, on a port that is not listed
        'http://127.0.0.1/',
        'http://127.0.0.1:9000/',
        'http://127.1/',
        'http://127.0.1/',
        'http://127.0.0.1./',
        'http://2130706433/',
        'http://0x7f000001/',
        'http://0x7f.0.0.1/',
        'http://017700000001/',
        'http://0177.0.0.1/',
        'http://0177.0x0.0.1/',
        'http://%31%32%37.0.0.1/',
        'http://127。0。0。1/',
        'http://127．0．0．1/',
        'http://127｡0｡0｡1/',
        'http://①②⑦.⓪.⓪.①/',
        'http://127.255.255.254/',
        'http://0.0.0.0/',
        'http://0/',
        'http://0.0.0.0:9001/',
        'http://localhost/',
        'http://localhost:9001/',
        'http://LOCALHOST:9001/',
        'http://localhost.:9000/',
        'http://ｌocalhost:9001/',
        'http://a.localhost:9000/',
        'http://localhost.localdomain:9000/',
        'http://[::1]/',
        'http://[::1]:9000/',
        'http://[::]/',
        'http://[0:0:0:0:0:0:0:1]/',
        'http://[::ffff:127.0.0.1]/',
        'http://[::ffff:7f00:1]:9000/',
        'http://[0:0:0:0:0:ffff:127.0.0.1]/',
        // addresses that hide a listed one, and are others
        'http://[::127.0.0.1]:9001/',
        'http://[::ffff:0:127.0.0.1]:9001/',
        'http://[64:ff9b::127.0.0.1]:9001/',
        'http://[2002:7f00:1::]:9001/',
        // private networks and the services of clouds
        'http://10.0.0.8/',
        'http://172.16.0.1/',
        'http://192.168.0.1/',
        'http://100.64.0.1/',
        'http://169.254.169.254/latest/meta-data/',
        'http://2852039166/',
        'http://0xa9fea9fe/',
        'http://[fd00:ec2::254]/',
        'http://[fd00::7]/',
        'http://[fe80::1]/',
        'http://[ff02::1]/',
        'http://255.255.255.255/',
        'http://224.0.0.1/',
        'http://metadata.google.internal/',
        // names that say an address, and neighbours of those that are listed
        'http://127.0.0.1.nip.io:9001/',
        'http://localtest.me:9001/',
        'https://10-0-0-7.sslip.io/',
        'https://example.org./',
        'https://example.org.evil.test/',
        'https://notexample.org/',
        'https://a.example.org/',
        'https://example.orɡ/',
        'https://hooks.example.org/',
        'https://hooks.example.org:443/',
        'https://8.8.8.8/',
      ],
    ],
    [
      /user name/,
      ['https://user@example.org/', 'https://user:pass@example.org/', 'https://example.org:443@127.0.0.1/', 'https://:x@example.org/'],
    ],
    [/fragment/, ['https://example.org/#a', 'https://example.org/#', 'https://example.org#@127.0.0.1/']],
    [/plain http/, ['http://example.org/', 'http://93.184.216.34/', 'HTTP://example.org:8443/']],
    [
      /spaces, control characters or backslashes/,
      [
        'https://example.org\\@127.0.0.1/',
        'https:\\\\example.org/',
        ' https://example.org/',
        'https://example.org/\n',
        'https://exam\tple.org/',
        'https://example.org/\0',
        'https://example.org/a\u00a0b',
        'https://127.0.0.1\u3000.example.org',
      ],
    ],
    [
      /Expected a URL such as/,
      [
        '',
        'example.org',
        '//example.org/',
        'https:example.org',
        'https:/example.org',
        'https:///example.org/',
        'https://?example.org',
        'https://exa%00mple.org/',
        'https://example.org:65536/',
        'http://999.1.1.1/',
        'http://[::1/',
        'http://[fe80::1%25eth0]/',
        'ftp://example.org/',
        'file:///etc/passwd',
        'gopher://127.0.0.1:9001/_x',
        'data:text/plain,x',
        'ws://localhost:9000/',
        'javascript:alert(1)',
      ],
    ],
    [/no longer than 2000/, [`https://example.org/${'a'.repeat(1_981)}`]],
  ])('is refused with %s', (sentence, urls) => {
    const reasons = urls.map((url) => [url, hosts.whyRefused(url)]);
    expect(reasons.filter(([, reason]) => !sentence.test(reason ?? ''))).toEqual([]);
  });

  it('is refused whatever it is where no host is listed', () => {
    expect(allowedHosts([]).whyRefused('https://example.org/')).toBe(
      'example.org:443 is not among the hosts that this server may call: add it to PACKHORSE_FETCH_HOSTS.',
    );
  });

  it('is not repeated in the refusal but for its host and port', () => {
    for (const url of [
      'https://evil.test/SECRET?SECRET',
      'https://SECRET@example.org/',
      'https://example.org/SECRET#SECRET',
      'ftp://a/SECRET',
    ]) {
      expect(hosts.whyRefused(url)).not.toContain('SECRET');
    }
  });
});

describe('the list', () => {
  it.each(['999.1.1.1', 'example.org:65536', '[::zz]', 'a:b:c', ''])('is refused for the entry %j', (entry) => {
    expect(() => allowedHosts([entry])).toThrow(/^PACKHORSE_FETCH_HOSTS: /);
  });
});

describe('an address that a name resolved to', () => {
  const special = [
    '127.0.0.1 127.9.9.9 10.0.0.8 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 0.1.2.3',
    '192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 192.88.99.1 224.0.0.1 240.0.0.1 255.255.255.255 192.0.0.1',
    ':: ::1 ::ffff:127.0.0.1 ::ffff:7f00:1 ::7f00:1 ::127.0.0.1 ::ffff:0:7f00:1 64:ff9b::7f00:1 64:ff9b:1::1',
    'fc00::1 fd00::8 fe80::1 fe80::1%lo fec0::1 ff02::1 2001::1 2001:db8::1 2002:7f00:1::',
    '100::1 4000::1',
  ].flatMap((line) => line.split(' '));

  it('is connected to where it is public', () => {
    for (const address of ['8.8.8.8', '93.184.216.34', '2606:4700::1111', '::ffff:8.8.8.8']) {
      expect([address, hosts.mayConnect('example.org', address, 443)]).toEqual([address, true]);
    }
  });

  it('is not connected to where it is special', () => {
    expect([...special, '', 'localhost', 'not an address'].filter((address) => hosts.mayConnect('example.org', address, 443))).toEqual([]);
  });

  it('is connected to where it is itself listed, with the port', () => {
    expect(hosts.mayConnect('example.org', '10.0.0.7', 443)).toBe(true);
    expect(hosts.mayConnect('example.org', '::ffff:10.0.0.7', 443)).toBe(true);
    expect(hosts.mayConnect('127.0.0.1', '127.0.0.1', 9_001)).toBe(true);
    expect(hosts.mayConnect('127.0.0.1', '127.0.0.1', 9_000)).toBe(false);
    expect(hosts.mayConnect('fd00::7', 'fd00:0::7', 9_002)).toBe(true);
  });

  it('is loopback for localhost and nothing else', () => {
    for (const address of ['127.0.0.1', '::1']) expect(hosts.mayConnect('localhost', address, 9_000)).toBe(true);
    expect(hosts.mayConnect('localhost', '127.0.0.1', 9_003)).toBe(false);
    for (const address of ['10.0.0.8', '8.8.8.8', '0.0.0.0']) expect(hosts.mayConnect('localhost', address, 9_000)).toBe(false);
    expect(allowedHosts(['example.org']).mayConnect('localhost', '127.0.0.1', 9_000)).toBe(false);
  });
});

describe('a host that was configured', () => {
  const crm = pinnedHost('http://crm.internal:9000/base');

  it('is called on its port, by its scheme, and nobody else is', () => {
    expect(crm.whyRefused('http://crm.internal:9000/base/jobs?x=1')).toBeNull();
    expect(crm.whyRefused('http://CRM.internal:9000/elsewhere')).toBeNull();
    for (const url of [
      'https://crm.internal:9000/base',
      'http://crm.internal/base',
      'http://crm.internal:9001/base',
      'http://crm.internal.example:9000/base',
      'http://user@crm.internal:9000/base',
      'http://127.0.0.1:9000/base',
      'http://crm.internal:9000\\@example.org/',
    ])
      expect(crm.whyRefused(url), url).not.toBeNull();
    expect(pinnedHost('https://crm.example').whyRefused('https://crm.example:443/jobs')).toBeNull();
  });

  it('may be in a private network, but nowhere that no service is', () => {
    for (const address of ['10.0.0.7', '192.168.1.1', '127.0.0.1', 'fd00::7', '8.8.8.8'])
      expect(crm.mayConnect('crm.internal', address, 9_000), address).toBe(true);
    for (const address of ['169.254.169.254', 'fe80::1', '0.0.0.0', '224.0.0.1', '255.255.255.255', ''])
      expect(crm.mayConnect('crm.internal', address, 9_000), address).toBe(false);
    expect(crm.mayConnect('crm.internal', '10.0.0.7', 80)).toBe(false);
    expect(crm.mayConnect('other.internal', '10.0.0.7', 9_000)).toBe(false);
    expect(pinnedHost('http://169.254.1.1').mayConnect('169.254.1.1', '169.254.1.1', 80)).toBe(true);
    expect(pinnedHost('http://localhost').mayConnect('localhost', '10.0.0.7', 80)).toBe(false);
  });
});
