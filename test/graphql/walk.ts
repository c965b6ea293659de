// Walks the schema for tests that are generated from it: its fields, the places in its inputs, and documents that ask for everything.
import {
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLObjectType,
  getNamedType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredArgument,
  isUnionType,
} from 'graphql';
import { schema } from '../../src/server/schema.ts';

export { schema };

export function decodeGlobal(id: string): { type: string; id: string } {
  const [type = '', rest = ''] = Buffer.from(id, 'base64').toString().split(':');
  return { type, id: rest };
}

export const rootFields = (['Query', 'Mutation', 'Subscription'] as const).flatMap((name) =>
  Object.keys((schema.getType(name) as GraphQLObjectType).getFields()).map((field) => `${name}.${field}`),
);

export const nodeTypes = schema
  .getPossibleTypes(schema.getType('Node') as never)
  .map(({ name }) => name)
  .sort();

/** A selection of everything under a type, so many levels deep; fields that need arguments are left out. */
export function everythingOf(type: GraphQLNamedType, depth: number): string {
  if (!isCompositeType(type)) return '';
  if (isUnionType(type)) {
    return `{ __typename ${type
      .getTypes()
      .map((member) => `... on ${member.name} ${everythingOf(member, depth)}`)
      .join(' ')} }`;
  }
  const fields = Object.values(type.getFields()).flatMap((field: GraphQLField<unknown, unknown>) => {
    if (field.args.some(isRequiredArgument)) return [];
    const named = getNamedType(field.type);
    if (isLeafType(named)) return [field.name];
    const deeper = ['edges', 'node', 'pageInfo'].includes(field.name) ? depth : depth - 1;
    return depth === 0 ? [] : [`${field.name} ${everythingOf(named, deeper)}`];
  });
  return `{ __typename ${fields.join(' ')} }`;
}

/** A place in an input where text can be put: the path to it. */
export interface TextPlace {
  readonly path: readonly string[];
  readonly type: 'String' | 'ID' | 'DateTime';
}

export function textPlaces(type: GraphQLInputType, path: readonly string[]): TextPlace[] {
  if (isNonNullType(type)) return textPlaces(type.ofType, path);
  if (isListType(type)) return textPlaces(type.ofType, [...path, '[]']);
  if (isInputObjectType(type)) return Object.values(type.getFields()).flatMap((field) => textPlaces(field.type, [...path, field.name]));
  return type.name === 'String' || type.name === 'ID' || type.name === 'DateTime' ? [{ path, type: type.name }] : [];
}

/** A value that a type takes: only what is required, and ids that nothing has. */
export function anyValue(type: GraphQLInputType, required = false): unknown {
  if (isNonNullType(type)) return anyValue(type.ofType, true);
  if (!required) return undefined;
  if (isListType(type)) return [];
  if (isInputObjectType(type)) {
    return Object.fromEntries(Object.values(type.getFields()).map((field) => [field.name, anyValue(field.type)]));
  }
  if (isEnumType(type)) return type.getValues()[0]?.name;
  if (type.name === 'Int') return 1;
  return type.name === 'Boolean' ? false : 'x';
}

/** The value with one place in it set. */
export function withValue(value: unknown, path: readonly string[], text: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return text;
  if (step === '[]') return [withValue(undefined, rest, text)];
  const object = (value ?? {}) as Record<string, unknown>;
  return { ...object, [step]: withValue(object[step], rest, text) };
}

export interface FieldWithArguments {
  /** `Workspace.events` */
  readonly name: string;
  readonly owner: GraphQLObjectType;
  readonly field: GraphQLField<unknown, unknown>;
}

export const fieldsWithArguments: readonly FieldWithArguments[] = Object.values(schema.getTypeMap()).flatMap((owner) =>
  isObjectType(owner) && !owner.name.startsWith('__')
    ? Object.values(owner.getFields())
        .filter(({ args }) => args.length > 0)
        .map((field) => ({ name: `${owner.name}.${field.name}`, owner, field }))
    : [],
);
