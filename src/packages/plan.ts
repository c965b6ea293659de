// What a registration made of a descriptor: defaults filled in, references resolved, order known. Stored as JSON, read by the loader.

export const fieldTypes = ['string', 'integer', 'number', 'boolean', 'date', 'time', 'datetime', 'year', 'yearmonth', 'any'] as const;
export type FieldType = (typeof fieldTypes)[number];

export interface FieldConstraints {
  readonly required?: boolean;
  readonly unique?: boolean;
  readonly minLength?: number;
  readonly maxLength?: number;
  /** Lexical values, as they would stand in the data. */
  readonly minimum?: string;
  readonly maximum?: string;
  readonly exclusiveMinimum?: string;
  readonly exclusiveMaximum?: string;
  readonly pattern?: string;
  readonly enum?: readonly string[];
}

export interface Field {
  readonly name: string;
  readonly type: FieldType;
  readonly constraints: FieldConstraints;
  /** Set where the field has its own; else the schema's hold. */
  readonly missingValues?: readonly string[];
  readonly decimalChar: string;
  readonly groupChar: string;
  readonly bareNumber: boolean;
  readonly trueValues: readonly string[];
  readonly falseValues: readonly string[];
}

export interface ForeignKey {
  readonly fields: readonly string[];
  /** A self reference names the dataset itself. */
  readonly reference: { readonly resource: string; readonly fields: readonly string[] };
}

export interface TableSchema {
  readonly fields: readonly Field[];
  readonly fieldsMatch: 'exact' | 'equal' | 'subset' | 'superset' | 'partial';
  readonly primaryKey: readonly string[];
  readonly uniqueKeys: readonly (readonly string[])[];
  readonly foreignKeys: readonly ForeignKey[];
  readonly missingValues: readonly string[];
  /** False: `missingValues` is the standard's default, which does not touch native JSON strings. */
  readonly missingValuesStated: boolean;
}

export interface CsvDialect {
  readonly delimiter: string;
  readonly quoteChar: string | null;
  readonly doubleQuote: boolean;
  readonly escapeChar: string | null;
  readonly header: boolean;
  readonly skipInitialSpace: boolean;
  readonly commentChar: string | null;
}

export interface DatasetPlan {
  readonly name: string;
  readonly position: number;
  readonly target: string;
  /** Datasets of the same package that must have succeeded first. */
  readonly dependsOn: readonly string[];
  readonly source:
    | { readonly kind: 'entry'; readonly path: string }
    /** `data` as the descriptor's own text, so that no digit is lost: a list of objects, or of lists with the header first. */
    | { readonly kind: 'inline'; readonly json: string };
  readonly format: 'csv' | 'json' | 'ndjson';
  readonly gzip: boolean;
  readonly dialect: CsvDialect;
  /** null: the descriptor states none, so every column is a string, named by the header. */
  readonly schema: TableSchema | null;
  /** The Table Schema as the descriptor has it (or null), for people and for exports. */
  readonly statedSchema: unknown;
  /** Of the file as it stands in the package, compressed or not. */
  readonly bytes: number;
  /** `sha256:<hex>` of the same bytes. */
  readonly hash: string;
}

export interface PackagePlan {
  readonly name: string;
  readonly version: string | null;
  readonly title: string | null;
  /** `sha256:<hex>` of the uploaded bytes. */
  readonly digest: string;
  /** Sentences for people: an unknown profile, a dataset without a schema, a wrong hash that was let pass. */
  readonly notes: readonly string[];
  /** In package order. */
  readonly datasets: readonly DatasetPlan[];
}
