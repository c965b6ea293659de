// The part of s3rver that the tests use; it has no types of its own.
declare module 's3rver' {
  import type { IncomingMessage, Server } from 'node:http';
  import type { Readable } from 'node:stream';

  export interface Stored {
    readonly size: number;
    readonly md5: string;
  }

  export interface Store {
    getResourcePath(bucket: string, key: string, resource: string): string;
    putMetadata(bucket: string, key: string, metadata: unknown, md5: string): Promise<void>;
    putObject(object: { bucket: string; key: string; content: Readable; metadata: unknown }): Promise<Stored>;
    putPart(bucket: string, uploadId: string, partNumber: string, content: IncomingMessage): Promise<Stored>;
  }

  export interface Context {
    readonly method: string;
    readonly path: string;
    readonly query: Record<string, string>;
    status: number;
  }

  export default class S3rver {
    constructor(options: object);
    readonly store: Store;
    readonly httpServer: Server;
    readonly middleware: ((context: Context, next: () => Promise<void>) => Promise<void>)[];
    on(event: 'error', listener: () => void): void;
    run(): Promise<{ port: number }>;
  }
}
