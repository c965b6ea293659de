// Zips byte by byte, so that they can say what no honest tool would write.
import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipEntry {
  readonly name: string | Buffer;
  readonly content?: string | Buffer;
  readonly deflate?: boolean;
  /** The rest is what the entry claims, where it differs from the truth. */
  readonly compressed?: Buffer;
  readonly statedBytes?: number;
  readonly statedCompressedBytes?: number;
  readonly crc?: number;
  readonly method?: number;
  readonly flags?: number;
  /** Unix file mode, in the upper half of the external attributes. */
  readonly mode?: number;
  /** Where the directory says the entry begins. */
  readonly offset?: number;
}

export function zipBytes(entries: readonly ZipEntry[], statedCount = entries.length): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const entry of entries) {
    const name = Buffer.from(entry.name);
    const content = Buffer.from(entry.content ?? '');
    const data = entry.compressed ?? (entry.deflate ? deflateRawSync(content) : content);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(entry.flags ?? 0x800, 2);
    common.writeUInt16LE(entry.method ?? (entry.deflate ? 8 : 0), 4);
    common.writeUInt16LE(0, 6);
    common.writeUInt16LE(0x21, 8);
    common.writeUInt32LE(entry.crc ?? crc32(content), 10);
    common.writeUInt32LE(entry.statedCompressedBytes ?? data.length, 14);
    common.writeUInt32LE(entry.statedBytes ?? content.length, 18);
    common.writeUInt16LE(name.length, 22);
    common.writeUInt16LE(0, 24);
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), common, name, data]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(((entry.mode ?? 0) << 16) >>> 0, 6);
    tail.writeUInt32LE(entry.offset ?? offset, 10);
    directory.push(Buffer.concat([Buffer.from('PK\x01\x02'), Buffer.from([20, 3]), common, tail, name]));
    files.push(local);
    offset += local.length;
  }
  const list = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write('PK\x05\x06', 'latin1');
  end.writeUInt16LE(statedCount, 8);
  end.writeUInt16LE(statedCount, 10);
  end.writeUInt32LE(list.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...files, list, end]);
}

/** A package as people would zip it. */
export function packageZip(descriptor: unknown, files: Readonly<Record<string, string | Buffer>> = {}): Buffer {
  const content = typeof descriptor === 'string' || Buffer.isBuffer(descriptor) ? descriptor : JSON.stringify(descriptor);
  const rest = Object.entries(files).map(([name, bytes]) => ({ name, content: bytes, deflate: true }));
  return zipBytes([{ name: 'datapackage.json', content, deflate: true }, ...rest]);
}
