// The environment, parsed once. Nobody else reads it.
import { accessSync, constants, mkdirSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { ProviderSettings } from './auth/sign-in.ts';
import { providerOf } from './config-sign-in.ts';
import { type Place, placeOf, placeSettings } from './config-storage.ts';
import { type RemoteTarget, readTargets } from './config-targets.ts';
import { codeOf, longestTimer, oneOf, webUrl, whole } from './config-values.ts';

/** A setting that cannot be used. The message is one line for whoever started the process, and holds no secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}

export interface Limits {
  readonly bodyBytes: number;
  readonly packageBytes: number;
  readonly archiveEntries: number;
  readonly expandedBytes: number;
  /** How many times its compressed size an archive may unpack to. */
  readonly expansionRatio: number;
  readonly depth: number;
  readonly complexity: number;
  readonly tokens: number;
  readonly socketFrameBytes: number;
  readonly socketOperations: number;
  /** Of one subject, in one process. */
  readonly socketsPerSubject: number;
}

export interface Config {
  readonly production: boolean;
  /** Absolute; `ensureHome` makes it. */
  readonly home: string;
  /** null: the embedded Postgres in the home. */
  readonly databaseUrl: string | null;
  readonly poolSize: number;
  readonly host: string;
  readonly port: number;
  /** Without a slash at its end. null: the address that the server listens on, see `urlOf`. */
  readonly publicUrl: string | null;
  readonly role: 'all' | 'api' | 'worker';
  readonly storage: Place;
  readonly jwt: {
    /** null: the home's own, see auth/secret.ts; never null in production. */
    readonly secret: Uint8Array | null;
    /** Where the keys of who else may issue tokens are; null: nobody. */
    readonly keysUrl: string | null;
    readonly audience: string;
    readonly issuer: string;
  };
  /** Where people sign in to the dashboard; null: by a token that they have. */
  readonly provider: ProviderSettings | null;
  readonly targets: readonly RemoteTarget[];
  /** `host` or `host:port`, in lower case. */
  readonly fetchHosts: readonly string[];
  readonly exportSlots: number;
  /** Where exports are written until they are in storage. Absolute. */
  readonly workDir: string;
  /** How often a runner may be lost before an export fails. */
  readonly maxTakeovers: number;
  /** How often a package is taken to storage before it is given up. */
  readonly publishAttempts: number;
  /** The first wait after a fault of storage or of a destination; later ones are longer. */
  readonly retryMs: number;
  readonly storeConcurrency: number;
  readonly queueHours: number;
  readonly grantHours: number;
  readonly stagedHours: number;
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  readonly pollMs: number;
  /** How long a request waits for the pass it asked for. */
  readonly deadlineMs: number;
  readonly cancelDeadlineMs: number;
  /** How long a plan may take to be made. */
  readonly planDeadlineMs: number;
  /** How many events a subscriber that was up to date may fall behind. */
  readonly streamBacklog: number;
  readonly eventRetentionDays: number;
  readonly rejectedRowDays: number;
  readonly logLevel: (typeof logLevels)[number];
  readonly limits: Limits;
}

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
const databaseUrl = z
  .string()
  .refine((value) => /^postgres(ql)?:\/\//.test(value) && URL.canParse(value), 'a URL that begins with postgres:// or postgresql://');

// In the clear whoever is on the way could put in keys of their own; to this machine itself there is no such way.
function isSafe(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname, username, hash } = new URL(url);
  const isUnheard = protocol === 'https:' || (protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname));
  return isUnheard && username === '' && hash === '';
}
const keysUrl = z.string().refine(isSafe, 'a URL that begins with https://, or with http:// and localhost or 127.0.0.1');

const hostList = z
  .string()
  .transform((value) => value.split(',').map((host) => host.trim().toLowerCase()))
  .refine(
    (hosts) =>
      hosts.every((host) => /^([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-f:.]+\])(:\d{1,5})?$/.test(host) && URL.canParse(`https://${host}`)),
    'host names or addresses, with or without a port, separated by commas',
  )
  .default([]);

const settings = z.object({
  NODE_ENV: z.string().optional(),
  DATABASE_URL: databaseUrl.optional(),
  HOST: z
    .string()
    .regex(/^[\w.:-]+$/, 'a host name or address')
    .default('127.0.0.1'),
  PORT: whole(4_000, 0, 65_535),
  PACKHORSE_HOME: z.string().default('.packhorse'),
  PACKHORSE_ROLE: oneOf(['all', 'api', 'worker'], 'all'),
  PACKHORSE_PUBLIC_URL: webUrl('a URL that begins with http:// or https://, without a query').optional(),
  ...placeSettings,
  PACKHORSE_JWKS_URL: keysUrl.optional(),
  PACKHORSE_JWT_SECRET: z
    .string()
    .transform((value) => new TextEncoder().encode(value))
    .refine((bytes) => bytes.length >= 32, 'at least 32 bytes')
    .optional(),
  PACKHORSE_JWT_AUDIENCE: z.string().default('packhorse'),
  PACKHORSE_JWT_ISSUER: z.string().default('packhorse'),
  PACKHORSE_OIDC_CLIENT_ID: z.string().optional(),
  PACKHORSE_OIDC_CLIENT_SECRET: z.string().optional(),
  PACKHORSE_OIDC_SCOPE: z.string().default('openid'),
  PACKHORSE_OIDC_PARAMETERS: z.string().default(''),
  PACKHORSE_TARGETS: z.string().optional(),
  PACKHORSE_FETCH_HOSTS: hostList,
  PACKHORSE_EXPORT_SLOTS: whole(2, 1, 1_000),
  PACKHORSE_WORK_DIR: z.string().optional(),
  PACKHORSE_MAX_TAKEOVERS: whole(5, 0, 1_000),
  PACKHORSE_PUBLISH_ATTEMPTS: whole(12, 1, 100),
  PACKHORSE_RETRY_MS: whole(5_000, 1, 3_600_000),
  PACKHORSE_STORE_CONCURRENCY: whole(2, 1, 100),
  PACKHORSE_POOL_SIZE: whole(10, 2, 1_000),
  PACKHORSE_QUEUE_HOURS: whole(24, 1, 8_760),
  PACKHORSE_GRANT_HOURS: whole(24, 1, 8_760),
  PACKHORSE_STAGED_HOURS: whole(24, 1, 8_760),
  PACKHORSE_EVENT_RETENTION_DAYS: whole(365, 1, 36_500),
  PACKHORSE_REJECTED_ROW_DAYS: whole(30, 1, 36_500),
  PACKHORSE_LEASE_MS: whole(30_000, 100, longestTimer),
  PACKHORSE_HEARTBEAT_MS: whole(10_000, 10, longestTimer),
  PACKHORSE_POLL_MS: whole(5_000, 10, longestTimer),
  PACKHORSE_DEADLINE_MS: whole(10_000, 1, longestTimer),
  PACKHORSE_CANCEL_DEADLINE_MS: whole(5_000, 1, longestTimer),
  PACKHORSE_PLAN_DEADLINE_MS: whole(120_000, 1, longestTimer),
  PACKHORSE_STREAM_BACKLOG: whole(10_000, 1),
  PACKHORSE_LOG_LEVEL: oneOf(logLevels, 'info'),
  PACKHORSE_MAX_BODY_BYTES: whole(262_144),
  PACKHORSE_MAX_PACKAGE_BYTES: whole(1_073_741_824),
  PACKHORSE_MAX_ARCHIVE_ENTRIES: whole(1_000),
  PACKHORSE_MAX_EXPANDED_BYTES: whole(10_737_418_240),
  PACKHORSE_MAX_EXPANSION_RATIO: whole(200),
  PACKHORSE_MAX_DEPTH: whole(12),
  PACKHORSE_MAX_COMPLEXITY: whole(5_000),
  PACKHORSE_MAX_TOKENS: whole(1_500),
  PACKHORSE_MAX_SOCKET_FRAME_BYTES: whole(65_536),
  PACKHORSE_MAX_SOCKET_OPERATIONS: whole(20),
  PACKHORSE_MAX_SOCKETS_PER_SUBJECT: whole(20_000),
});

const secrets = new Set([
  'DATABASE_URL',
  'PACKHORSE_JWT_SECRET',
  'PACKHORSE_OIDC_CLIENT_SECRET',
  'AWS_ENDPOINT_URL',
  'AWS_ENDPOINT_URL_S3',
]);

export function readConfig(env: NodeJS.ProcessEnv): Config {
  // An empty variable is one that was not set: compose files and shells cannot tell the two apart.
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  const parsed = settings.safeParse(given);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    const name = String(issue?.path[0]);
    throw unusable(name, issue?.message ?? 'another value', given[name] ?? '');
  }
  const value = parsed.data;
  const production = value.NODE_ENV === 'production';
  if (production && value.PACKHORSE_JWT_SECRET === undefined) {
    throw new ConfigError('PACKHORSE_JWT_SECRET: expected at least 32 bytes where NODE_ENV is production, found nothing');
  }
  if (value.PACKHORSE_HEARTBEAT_MS >= value.PACKHORSE_LEASE_MS) {
    throw unusable(
      'PACKHORSE_HEARTBEAT_MS',
      `less than PACKHORSE_LEASE_MS (${value.PACKHORSE_LEASE_MS})`,
      String(value.PACKHORSE_HEARTBEAT_MS),
    );
  }
  const home = path.resolve(value.PACKHORSE_HOME);
  return {
    production,
    home,
    databaseUrl: value.DATABASE_URL ?? null,
    poolSize: value.PACKHORSE_POOL_SIZE,
    host: value.HOST,
    port: value.PORT,
    publicUrl: value.PACKHORSE_PUBLIC_URL ?? null,
    role: value.PACKHORSE_ROLE,
    storage: placeOf(value, home),
    jwt: {
      secret: value.PACKHORSE_JWT_SECRET ?? null,
      keysUrl: value.PACKHORSE_JWKS_URL ?? null,
      audience: value.PACKHORSE_JWT_AUDIENCE,
      issuer: value.PACKHORSE_JWT_ISSUER,
    },
    provider: providerOf(value, isSafe, unusable),
    targets: targetsOf(value.PACKHORSE_TARGETS),
    fetchHosts: value.PACKHORSE_FETCH_HOSTS,
    exportSlots: value.PACKHORSE_EXPORT_SLOTS,
    workDir: path.resolve(value.PACKHORSE_WORK_DIR ?? path.join(home, 'work')),
    maxTakeovers: value.PACKHORSE_MAX_TAKEOVERS,
    publishAttempts: value.PACKHORSE_PUBLISH_ATTEMPTS,
    retryMs: value.PACKHORSE_RETRY_MS,
    storeConcurrency: value.PACKHORSE_STORE_CONCURRENCY,
    queueHours: value.PACKHORSE_QUEUE_HOURS,
    grantHours: value.PACKHORSE_GRANT_HOURS,
    stagedHours: value.PACKHORSE_STAGED_HOURS,
    leaseMs: value.PACKHORSE_LEASE_MS,
    heartbeatMs: value.PACKHORSE_HEARTBEAT_MS,
    pollMs: value.PACKHORSE_POLL_MS,
    deadlineMs: value.PACKHORSE_DEADLINE_MS,
    cancelDeadlineMs: value.PACKHORSE_CANCEL_DEADLINE_MS,
    planDeadlineMs: value.PACKHORSE_PLAN_DEADLINE_MS,
    streamBacklog: value.PACKHORSE_STREAM_BACKLOG,
    eventRetentionDays: value.PACKHORSE_EVENT_RETENTION_DAYS,
    rejectedRowDays: value.PACKHORSE_REJECTED_ROW_DAYS,
    logLevel: value.PACKHORSE_LOG_LEVEL,
    limits: {
      bodyBytes: value.PACKHORSE_MAX_BODY_BYTES,
      packageBytes: value.PACKHORSE_MAX_PACKAGE_BYTES,
      archiveEntries: value.PACKHORSE_MAX_ARCHIVE_ENTRIES,
      expandedBytes: value.PACKHORSE_MAX_EXPANDED_BYTES,
      expansionRatio: value.PACKHORSE_MAX_EXPANSION_RATIO,
      depth: value.PACKHORSE_MAX_DEPTH,
      complexity: value.PACKHORSE_MAX_COMPLEXITY,
      tokens: value.PACKHORSE_MAX_TOKENS,
      socketFrameBytes: value.PACKHORSE_MAX_SOCKET_FRAME_BYTES,
      socketOperations: value.PACKHORSE_MAX_SOCKET_OPERATIONS,
      socketsPerSubject: value.PACKHORSE_MAX_SOCKETS_PER_SUBJECT,
    },
  };
}

function targetsOf(file: string | undefined): RemoteTarget[] {
  try {
    return file === undefined ? [] : readTargets(path.resolve(file));
  } catch (error) {
    throw new ConfigError(`PACKHORSE_TARGETS: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

/** What links begin with where no public URL is set. */
export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** Makes the home if it is missing, and refuses one that cannot be written. */
export function ensureHome(home: string): void {
  try {
    mkdirSync(home, { recursive: true }); // not private: a Postgres started by root runs as somebody else, below it
    accessSync(home, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new ConfigError(`PACKHORSE_HOME: expected a folder that can be made and written, found ${home} (${codeOf(error)})`, {
      cause: error,
    });
  }
}

function unusable(name: string, expected: string, found: string): ConfigError {
  const shown = secrets.has(name) ? `one of ${Buffer.byteLength(found)} bytes, not shown` : JSON.stringify(found.slice(0, 100));
  return new ConfigError(`${name}: expected ${expected}, found ${shown}`);
}
