// Taking access back and giving it again, as an administrator does.
import { expect } from 'vitest';
import type { TestApp } from '../support/app.ts';

/** The answer's union member. */
export async function askAccess(
  app: TestApp,
  mutation: 'revokeAccess' | 'restoreAccess',
  input: { workspaceId: string; subject: string; reason?: string },
  token?: string,
): Promise<any> {
  const type = mutation === 'revokeAccess' ? 'RevokeAccessInput' : 'RestoreAccessInput';
  const { data, errors } = await app.graphql(
    `mutation ($input: ${type}!) { ${mutation}(input: $input) {
      __typename ... on Workspace { id revokedAccess { subject reason revokedBy revokedAt } } ... on Error { code message } ... on InvalidInputError { field } } }`,
    { input },
    token,
  );
  expect(errors).toEqual([]);
  return data[mutation];
}

export async function setAccess(
  app: TestApp,
  mutation: 'revokeAccess' | 'restoreAccess',
  workspaceId: string,
  subject: string,
): Promise<void> {
  const answer = await askAccess(app, mutation, { workspaceId, subject });
  expect(answer.__typename, JSON.stringify(answer)).toBe('Workspace');
}
