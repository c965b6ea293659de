// Primary keys, unique keys and foreign keys: the JSON Schemas of the standard miss most of what can be wrong with them.
import type { ForeignKey } from './plan.ts';
import { type PackageProblemCode, quote, type Report } from './problems.ts';
import { isRecord } from './shape.ts';

/** As the descriptor has it; where it points to is judged when all datasets are known. */
export interface StatedForeignKey {
  readonly fields: readonly string[];
  /** null: the dataset itself. */
  readonly resource: string | null;
  readonly referenceFields: readonly string[];
  readonly report: Report;
}

/** A field name or a list of them, each once and each a field of the schema; null after reporting. */
export function readFieldList(stated: unknown, names: ReadonlySet<string>, what: string, report: Report): readonly string[] | null {
  const list = namesIn(stated);
  if (list === null) {
    report.problem('INVALID_SCHEMA', `${what} must be a field name or a list of field names.`);
    return null;
  }
  if (new Set(list).size < list.length) report.problem('INVALID_SCHEMA', `${what} names a field twice.`);
  for (const name of list) {
    if (!names.has(name)) report.problem('INVALID_SCHEMA', `${what} names the field ${quote(name)}, which the schema does not have.`);
  }
  return list;
}

export function readUniqueKeys(stated: unknown, names: ReadonlySet<string>, report: Report): (readonly string[])[] {
  if (stated === undefined || stated === null) return [];
  if (!Array.isArray(stated)) {
    report.problem('INVALID_SCHEMA', 'The uniqueKeys must be a list.');
    return [];
  }
  const list: readonly unknown[] = stated;
  const keys = list.map((key, index) => readFieldList(key, names, 'A unique key', report.at(index)));
  return keys.filter((key) => key !== null && key.length > 0).map((key) => key ?? []);
}

export function readForeignKeys(stated: unknown, names: ReadonlySet<string>, report: Report): StatedForeignKey[] {
  if (stated === undefined || stated === null) return [];
  if (!Array.isArray(stated)) {
    report.problem('INVALID_SCHEMA', 'The foreignKeys must be a list.');
    return [];
  }
  const list: readonly unknown[] = stated;
  return list.map((key, index) => readForeignKey(key, names, report.at(index))).filter((key) => key !== null);
}

function readForeignKey(stated: unknown, names: ReadonlySet<string>, report: Report): StatedForeignKey | null {
  const refuse = (message: string, ...path: string[]): null => {
    report.problem('INVALID_SCHEMA', message, ...path);
    return null;
  };
  if (!isRecord(stated)) return refuse('A foreign key must be an object.');
  const fields = readFieldList(stated.fields, names, 'A foreign key', report.at('fields'));
  const reference = stated.reference;
  if (!isRecord(reference)) return refuse('A foreign key must have a reference.', 'reference');
  // `package` is version 2's; `datapackage` an older way to say the same.
  for (const property of ['package', 'datapackage']) {
    if (!reference[property]) continue;
    const words = `A foreign key points to another package, ${quote(JSON.stringify(reference[property]))}; only datasets of the same package can be.`;
    report.problem('REMOTE_REFERENCE', words, 'reference', property);
    return null;
  }
  const resource = reference.resource ?? '';
  if (typeof resource !== 'string') return refuse('The resource of a reference must be a name.', 'reference', 'resource');
  const referenceFields = namesIn(reference.fields);
  if (referenceFields === null || referenceFields.length === 0) {
    return refuse('The reference of a foreign key must name its fields.', 'reference', 'fields');
  }
  if (fields === null) return null;
  if (fields.length === 0) return refuse('A foreign key must name at least one field.', 'fields');
  if (fields.length !== referenceFields.length) {
    return refuse(`A foreign key has ${fields.length} fields and its reference ${referenceFields.length}.`, 'reference', 'fields');
  }
  return { fields, resource: resource === '' ? null : resource, referenceFields, report: report.at('reference') };
}

export interface ReferenceTarget {
  /** null: it has no schema; 'unreadable': it has one that could not be read, which is reported already. */
  readonly fieldNames: ReadonlySet<string> | null | 'unreadable';
}

/** The key as the plan has it, or null where it does not point to anything. */
export function resolveForeignKey(key: StatedForeignKey, own: string, targets: ReadonlyMap<string, ReferenceTarget>): ForeignKey | null {
  // Before version 1 a self reference was written "self".
  const isSelf = key.resource === null || (key.resource === 'self' && !targets.has('self'));
  const resource = isSelf ? own : (key.resource ?? own);
  const target = targets.get(resource);
  const refuse = (code: PackageProblemCode, message: string, property: string): void => key.report.problem(code, message, property);
  if (target === undefined) {
    refuse('UNKNOWN_REFERENCE_TARGET', `A foreign key points to ${quote(resource)}, which is not in the package.`, 'resource');
    return null;
  }
  if (target.fieldNames === null) {
    refuse('INVALID_SCHEMA', `A foreign key points to ${quote(resource)}, which has no schema and so no fields.`, 'fields');
  } else if (target.fieldNames !== 'unreadable') {
    for (const name of key.referenceFields) {
      if (target.fieldNames.has(name)) continue;
      refuse('INVALID_SCHEMA', `A foreign key points to the field ${quote(name)} of ${quote(resource)}, which does not have it.`, 'fields');
    }
  }
  return { fields: key.fields, reference: { resource, fields: key.referenceFields } };
}

function namesIn(stated: unknown): readonly string[] | null {
  if (typeof stated === 'string') return [stated];
  if (!Array.isArray(stated)) return null;
  const list: readonly unknown[] = stated;
  return list.every((name) => typeof name === 'string') ? list : null;
}
