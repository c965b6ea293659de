// docs/job-target.openapi.yaml: that it is OpenAPI 3.1, that its examples are what its schemas say, and that the code reads the same forms.
import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { wireFailure, wireJob, wireRefusal, wireSubmission } from '../../src/job-target/wire.ts';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Members = { [name: string]: Json };

const text = readFileSync(new URL('../../docs/job-target.openapi.yaml', import.meta.url), 'utf8');
const document = parse(text, { merge: true }) as Members;

const isMembers = (value: Json | undefined): value is Members => typeof value === 'object' && value !== null && !Array.isArray(value);

function at(pointer: string): Json {
  return pointer
    .split('/')
    .slice(1)
    .reduce<Json>((value, name) => (value as Members)[name] ?? null, document);
}

/** Without references, and without what is said to people. */
function bare(value: Json): Json {
  if (Array.isArray(value)) return value.map(bare);
  if (!isMembers(value)) return value;
  const { $ref } = value;
  if (typeof $ref === 'string') return bare(at($ref));
  const told = new Set(['$schema', 'pattern']); // zod writes a pattern beside a date's format
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, inner]) => !told.has(name) && !(name === 'description' && typeof inner === 'string'))
      .map(([name, inner]) => [name, name === 'required' && Array.isArray(inner) ? inner.map(String).sort() : bare(inner)]),
  );
}

it('is a valid OpenAPI 3.1 document', async () => {
  const result = await new Validator().validate(structuredClone(document));
  expect(result.errors ?? []).toEqual([]);
  expect(result.valid).toBe(true);
  expect(document['openapi']).toBe('3.1.0');
});

describe('the forms that the code reads and writes', () => {
  const forms = { Job: wireJob, Failure: wireFailure, Refusal: wireRefusal, Submission: wireSubmission };

  it.each(Object.entries(forms))('%s is in the document as it is in the code', (name, form) => {
    const inCode = z.toJSONSchema(form, { io: 'input' });
    expect(bare(at(`#/components/schemas/${name}`))).toEqual(bare(inCode as Json));
  });
});

describe('every example', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });

  function examples(): [string, Json, Json][] {
    const found: [string, Json, Json][] = [];
    const visit = (value: Json, path: string) => {
      if (Array.isArray(value)) for (const [index, inner] of value.entries()) visit(inner, `${path}/${index}`);
      if (!isMembers(value)) return;
      const { schema, examples: given } = value;
      if (isMembers(schema) && isMembers(given)) {
        for (const [name, one] of Object.entries(given))
          found.push([`${path} ${name}`, bare(schema), (bare(one) as Members)['value'] ?? null]);
      }
      for (const [name, inner] of Object.entries(value)) visit(inner, `${path}/${name}`);
    };
    visit(document, '');
    return found;
  }

  it('is what its schema says', () => {
    const all = examples();
    expect(all.length).toBeGreaterThan(8);
    for (const [path, schema, value] of all) {
      const valid = ajv.validate(schema as object, value);
      expect(valid, `${path}: ${ajv.errorsText()}`).toBe(true);
    }
  });

  it('of each state is read by the code', () => {
    const jobs = Object.values(at('#/components/examples') as Members).map((example) => wireJob.parse((example as Members)['value']));
    expect(jobs.map(({ state }) => state).sort()).toEqual(['blocked', 'cancelled', 'failed', 'queued', 'running', 'succeeded']);
  });
});
