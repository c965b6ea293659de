// What kind of file a resource is, by what the descriptor says and the path's ending. Nothing is sniffed.
import type { DatasetPlan } from './plan.ts';
import { quote, type Report } from './problems.ts';

export interface StatedFile {
  readonly path: string | null;
  readonly format: string | null;
  readonly mediatype: string | null;
  readonly compression: string | null;
  readonly encoding: string | null;
}

export interface FileFormat {
  readonly format: DatasetPlan['format'];
  readonly gzip: boolean;
  /** What the standard has where the dialect says nothing. */
  readonly delimiter: string;
}

const formats = new Map<string, Omit<FileFormat, 'gzip'>>([
  ['csv', { format: 'csv', delimiter: ',' }],
  ['tsv', { format: 'csv', delimiter: '\t' }],
  ['json', { format: 'json', delimiter: ',' }],
  ['ndjson', { format: 'ndjson', delimiter: ',' }],
  ['jsonl', { format: 'ndjson', delimiter: ',' }],
]);

const mediatypes = new Map([
  ['text/csv', 'csv'],
  ['application/csv', 'csv'],
  ['text/tab-separated-values', 'tsv'],
  ['application/json', 'json'],
  ['application/x-ndjson', 'ndjson'],
  ['application/ndjson', 'ndjson'],
  ['application/jsonl', 'ndjson'],
  ['application/x-jsonlines', 'ndjson'],
]);

const compressedEndings = ['gz', 'zip', 'bz2', 'xz', 'zst', '7z'];
const encodings = ['utf-8', 'utf8', 'us-ascii', 'ascii'];

export function resolveFormat(file: StatedFile, report: Report): FileFormat {
  const name = file.path?.slice(file.path.lastIndexOf('/') + 1).toLowerCase() ?? '';
  const endings = name.split('.').slice(1);
  const last = endings.at(-1) ?? '';
  const isCompressedName = compressedEndings.includes(last);
  // Some write `compression: ""` or "no" for none.
  const stated = file.compression?.toLowerCase() ?? '';
  const compression = stated === '' || stated === 'no' ? (isCompressedName ? last : null) : stated;
  const gzip = compression === 'gz' || compression === 'gzip';
  if (compression !== null && !gzip) {
    const words = `Files compressed as ${quote(compression)} are not read; only gzip is.`;
    report.problem('COMPRESSION_NOT_SUPPORTED', words, stated === compression ? 'compression' : 'path');
  }
  if (file.encoding && !encodings.includes(file.encoding.toLowerCase())) {
    report.problem('ENCODING_NOT_SUPPORTED', `The encoding ${quote(file.encoding)} is not read yet; only UTF-8 is.`, 'encoding');
  }

  const ending = (isCompressedName ? endings.at(-2) : endings.at(-1)) ?? '';
  const mediatype = file.mediatype?.split(';')[0]?.trim().toLowerCase() ?? '';
  const known = formats.get(file.format ? file.format.toLowerCase() : ending) ?? (file.format ? undefined : byMediatype(mediatype, ending));
  if (known === undefined) {
    const property = file.format ? 'format' : ending !== '' ? 'path' : 'mediatype';
    const found = file.format ?? (ending === '' ? mediatype : ending);
    report.problem('FORMAT_NOT_SUPPORTED', `Files of the format ${quote(found)} are not read; CSV, TSV, JSON and NDJSON are.`, property);
  }
  return { format: known?.format ?? 'csv', delimiter: known?.delimiter ?? ',', gzip };
}

function byMediatype(mediatype: string, ending: string): Omit<FileFormat, 'gzip'> | undefined {
  if (mediatype === '' && ending === '') return formats.get('csv');
  return formats.get(mediatypes.get(mediatype) ?? '');
}
