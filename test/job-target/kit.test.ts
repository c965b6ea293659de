// The conformance kit: it lets a service pass that keeps the contract, and finds each fault by the check for it and by no other.
import { afterAll, afterEach, expect, it } from 'vitest';
import { callTokens } from '../../src/auth/call-token.ts';
import { checks } from '../../src/job-target/checks.ts';
import { checkService } from '../../src/job-target/kit.ts';
import { serveMaterials } from '../../src/job-target/materials.ts';
import { httpService } from '../../src/job-target/service.ts';
import { faults, modelService } from './model-service.ts';

const tokens = callTokens(new TextEncoder().encode('a secret of at least thirty-two bytes'), 'packhorse');
const model = await modelService(tokens.publicKeys as Parameters<typeof modelService>[0], () => model.url);
const materials = await serveMaterials('127.0.0.1', '127.0.0.1');
afterAll(async () => {
  await materials.close();
  await model.close();
});
afterEach(() => {
  model.fault = null;
});

const called = (token: ((id: string) => Promise<string>) | null) => httpService({ baseUrl: model.url, token, timeoutMs: 5_000 });
const mint = (audience: string) => (id: string) => tokens.mint({ subject: 'kit', audience, id });
const world = {
  service: called((id) => mint(model.url)(id)),
  strangers: { 'without a token': called(null), 'for another audience': called(mint('https://elsewhere.example')) },
  materials,
  patienceMs: 3_000,
};

it('lets a service pass that keeps the contract', async () => {
  const findings = await checkService(world);
  expect(findings.map(({ name, outcome, message }) => [name, outcome, message])).toEqual(checks.map(({ name }) => [name, 'passed', null]));
});

it('has a fault for each check', () => {
  expect(Object.values(faults).sort()).toEqual(checks.map(({ name }) => name).sort());
});

it.each(Object.entries(faults))('finds a service that %s by the check %s, and by that alone', async (fault, check) => {
  model.fault = fault;
  const findings = await checkService(world);
  expect(findings.filter(({ outcome }) => outcome !== 'passed').map(({ name, outcome }) => [name, outcome])).toEqual([[check, 'failed']]);
});

it('finds a service that is not there by each check, and ends', async () => {
  const nowhere = httpService({ baseUrl: 'http://127.0.0.1:1', token: null, timeoutMs: 1_000 });
  const findings = await checkService({ ...world, service: nowhere, strangers: {} });
  expect(findings.filter(({ outcome }) => outcome === 'passed')).toEqual([]);
});
