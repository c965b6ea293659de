// The API's shape: described to the last value, and holding what clients were promised.
import { existsSync, readFileSync } from 'node:fs';
import {
  buildSchema,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLNamedType,
  type GraphQLSchema,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
  isUnionType,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { schema } from './walk.ts';

const ours = (type: GraphQLNamedType) => !isIntrospectionType(type) && !isSpecifiedScalarType(type);

/** Every named part of a schema, by its path: `Workspace.events(first:)`. */
function parts(of: GraphQLSchema): Map<string, { description?: string | null | undefined }> {
  const found = new Map<string, { description?: string | null | undefined }>();
  for (const type of Object.values(of.getTypeMap()).filter(ours)) {
    found.set(type.name, type);
    if (isEnumType(type)) for (const value of type.getValues()) found.set(`${type.name}.${value.name}`, value);
    if (isInputObjectType(type)) for (const field of Object.values(type.getFields())) found.set(`${type.name}.${field.name}`, field);
    if (!isObjectType(type) && !isInterfaceType(type)) continue;
    for (const field of Object.values(type.getFields())) {
      found.set(`${type.name}.${field.name}`, field);
      for (const argument of field.args) found.set(`${type.name}.${field.name}(${argument.name}:)`, argument);
    }
  }
  return found;
}

it('every type, field, argument, input field and enum value is described', () => {
  const all = [...parts(schema)];
  expect(all.length).toBeGreaterThan(300);
  expect(all.filter(([, { description }]) => (description ?? '').trim() === '').map(([name]) => name)).toEqual([]);
});

it('no description is a name again, and all end as sentences do', () => {
  const odd = [...parts(schema)].filter(([name, { description }]) => !/[.!?]$/.test(description ?? '') || description === name);
  expect(odd.map(([name]) => name)).toEqual([]);
});

const file = new URL('../../../shared/spec/contract.graphql', import.meta.url);

describe.skipIf(!existsSync(file))('the contract', () => {
  const argument = ({ name, type, defaultValue }: GraphQLArgument | GraphQLInputField) =>
    `${name}: ${String(type)}${defaultValue === undefined ? '' : ` = ${JSON.stringify(defaultValue)}`}`;
  const field = ({ name, type, args }: GraphQLField<unknown, unknown>) =>
    `${name}(${args.map(argument).sort().join(', ')}): ${String(type)}`;

  it('is kept in names, types, nullability and defaults', () => {
    const contract = buildSchema(readFileSync(file, 'utf8'), { assumeValid: true });
    const missing: string[] = [];
    let looked = 0;
    const same = (path: string, wanted: string, found: string | undefined) => {
      looked++;
      if (wanted !== found) missing.push(`${path}: wanted ${wanted}, found ${found ?? 'nothing'}`);
    };
    for (const wanted of Object.values(contract.getTypeMap())) {
      if (!ours(wanted)) continue;
      const found = schema.getType(wanted.name);
      same(wanted.name, wanted.constructor.name, found?.constructor.name);
      if (isUnionType(wanted)) {
        const names = (type: GraphQLNamedType | undefined) =>
          (isUnionType(type) ? type.getTypes().map(({ name }) => name) : []).sort().join(' | ');
        same(wanted.name, names(wanted), names(found));
      } else if (isEnumType(wanted)) {
        for (const { name } of wanted.getValues())
          same(`${wanted.name}.${name}`, name, isEnumType(found) ? found.getValue(name)?.name : undefined);
      } else if (isInputObjectType(wanted)) {
        for (const one of Object.values(wanted.getFields())) {
          const other = isInputObjectType(found) ? found.getFields()[one.name] : undefined;
          same(`${wanted.name}.${one.name}`, argument(one), other && argument(other));
        }
        const required = isInputObjectType(found)
          ? Object.values(found.getFields()).filter(({ name, type }) => !(name in wanted.getFields()) && String(type).endsWith('!'))
          : [];
        same(wanted.name, '', required.map(argument).join(', ')); // an addition must not be needed
      } else if (isObjectType(wanted) || isInterfaceType(wanted)) {
        const fields = isObjectType(found) || isInterfaceType(found) ? found.getFields() : {};
        for (const one of Object.values(wanted.getFields())) {
          const other = fields[one.name];
          same(`${wanted.name}.${one.name}`, field(one), other && field(other));
        }
        const interfaces = (isObjectType(found) || isInterfaceType(found) ? found.getInterfaces() : []).map(({ name }) => name);
        for (const { name } of wanted.getInterfaces())
          same(
            `${wanted.name} implements`,
            name,
            interfaces.find((other) => other === name),
          );
      }
    }
    expect(missing).toEqual([]);
    expect(looked).toBeGreaterThan(300);
  });
});
