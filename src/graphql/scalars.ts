// The three scalars. Values are exact: no integer passes through a float, no instant through a local time zone.
import { GraphQLError } from 'graphql';
import { builder } from './builder.ts';

builder.scalarType('DateTime', {
  description: 'An instant as RFC 3339 in UTC, such as 2026-11-30T20:07:00.000Z.',
  serialize: (value) => (value instanceof Date ? value.toISOString() : value),
  parseValue: (value) => {
    const date =
      typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/i.test(value) ? new Date(value) : null;
    if (date === null || Number.isNaN(date.getTime()))
      throw new GraphQLError('DateTime: expected RFC 3339 with a time zone, such as 2026-11-30T20:07:00Z');
    return date;
  },
});

builder.scalarType('BigInt', {
  description: 'An integer of any size, as a string of digits.',
  serialize: (value) => value.toString(),
  parseValue: (value) => {
    if ((typeof value === 'string' || typeof value === 'number') && /^-?\d{1,100}$/.test(String(value))) return BigInt(value);
    throw new GraphQLError('BigInt: expected a string of digits');
  },
});

builder.scalarType('JSON', {
  description: 'Any JSON value.',
  serialize: (value) => value,
  parseValue: (value) => value,
});
