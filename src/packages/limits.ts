// What one package may ask of the machine. Callers pass their own where the defaults do not fit.

const mebibyte = 1024 ** 2;
const gibibyte = 1024 ** 3;

export interface PackageLimits {
  /** Of the uploaded file itself. */
  readonly archiveBytes: number;
  readonly entries: number;
  /** Of all entries together, expanded from the zip. What a gzipped file inside expands to is `datasetExpandedBytes`. */
  readonly expandedBytes: number;
  /** Expanded over compressed, for entries that expand to more than `ratioFromBytes`: small files of equal lines compress very well. */
  readonly entryRatio: number;
  readonly ratioFromBytes: number;
  /** Of datapackage.json, and of each schema or dialect file it names. */
  readonly descriptorBytes: number;
  readonly descriptorDepth: number;
  readonly resources: number;
  readonly fieldsPerDataset: number;
  /** Of one dataset's gzipped file, counted while it is read. */
  readonly datasetExpandedBytes: number;
}

export const defaultPackageLimits: PackageLimits = {
  archiveBytes: 2 * gibibyte,
  entries: 10_000,
  expandedBytes: 20 * gibibyte,
  entryRatio: 200,
  ratioFromBytes: mebibyte,
  descriptorBytes: 8 * mebibyte,
  descriptorDepth: 32,
  resources: 2_000,
  // Postgres stops at 1,600 columns, and the loader adds some of its own.
  fieldsPerDataset: 1_500,
  datasetExpandedBytes: 20 * gibibyte,
};
