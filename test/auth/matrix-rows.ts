// What each role gets of every way into the graph: of its own, of another tenant's, and of nothing's. The matrix asks for each of them.
import { type Role, roleNames, type Tenant } from './tenants.ts';

export interface Row {
  readonly query: string;
  readonly variables: (place: Tenant) => Record<string, unknown>;
  readonly roles: Readonly<Record<Role, Cells>>;
}
/** What a role gets of its own, of another tenant's, and of nothing's. */
type Cells = readonly [own: string, other: string, none: string];

export const refused: Cells = ['UNAUTHENTICATED', 'UNAUTHENTICATED', 'UNAUTHENTICATED'];
const same = (outcome: string): Cells => [outcome, outcome, outcome];

/** For whoever has workspace:read and is named; for the others it is not there. */
function reading(missing: string): Row['roles'] {
  const sees: Cells = ['found', missing, missing];
  const blind: Cells = [missing, missing, missing];
  return {
    'no token': refused,
    'expired token': refused,
    'no permission': blind,
    'workspace:read': sees,
    'workspace:admin': blind,
    'data-run': blind,
    'data-run:force': blind,
    'data-export:execute': blind,
    'target:store': blind,
    'target:*': blind,
    staff: sees,
    admin: sees,
    everywhere: ['found', 'found', missing],
    'nowhere named': blind,
    revoked: blind,
  };
}

/** For whoever is named and has the permission; the named others are told what they lack. */
function acting(permission: 'workspace:read' | 'data-run' | 'data-export:execute' | 'workspace:admin', allowed: string): Row['roles'] {
  const lacks: Cells = [`ForbiddenError ${permission}`, 'NotFoundError', 'NotFoundError'];
  const may: Cells = [allowed, 'NotFoundError', 'NotFoundError'];
  const roles: Row['roles'] = {
    'no token': refused,
    'expired token': refused,
    'no permission': lacks,
    'workspace:read': lacks,
    'workspace:admin': lacks,
    'data-run': lacks,
    'data-run:force': lacks,
    'data-export:execute': lacks,
    'target:store': lacks,
    'target:*': lacks,
    staff: permission === 'data-run' || permission === 'workspace:read' ? may : lacks,
    admin: may,
    everywhere: [allowed, allowed, 'NotFoundError'],
    'nowhere named': same('NotFoundError'),
    revoked: same('NotFoundError'),
  };
  return { ...roles, [permission]: may };
}

const anybody: Row['roles'] = {
  ...(Object.fromEntries(roleNames.map((role) => [role, same('found')])) as unknown as Row['roles']),
  'no token': refused,
  'expired token': refused,
};

const refusal = '... on Error { code message } ... on ForbiddenError { permission dataset }';
const command = (
  name: string,
  variables: Row['variables'],
  allowed: string,
  permission: Parameters<typeof acting>[0] = 'data-run',
): Row => ({
  query: `mutation ($input: ${name[0]?.toUpperCase()}${name.slice(1)}Input!) { it: ${name}(input: $input) { __typename ${refusal} } }`,
  variables: (place) => ({ input: variables(place) }),
  roles: acting(permission, allowed),
});
const node = (type: string, id: keyof Tenant): Record<string, Row> => ({
  [`node(${type})`]: {
    query: 'query ($id: ID!) { it: node(id: $id) { __typename id } }',
    variables: (place) => ({ id: place[id] }),
    roles: reading('null'),
  },
  [`nodes(${type})`]: {
    query: 'query ($ids: [ID!]!) { it: nodes(ids: $ids) { __typename id } }',
    variables: (place) => ({ ids: [place[id]] }),
    roles: reading('[null]'),
  },
});

export const table: Readonly<Record<string, Row>> = {
  'Query.node': {
    query: 'query ($id: ID!) { it: node(id: $id) { id } }',
    variables: ({ waiting }) => ({ id: waiting }),
    roles: reading('null'),
  },
  'Query.nodes': {
    query: 'query ($ids: [ID!]!) { it: nodes(ids: $ids) { id } }',
    variables: ({ waiting }) => ({ ids: [waiting] }),
    roles: reading('[null]'),
  },
  ...node('Workspace', 'workspace'),
  ...node('DataRun', 'run'),
  ...node('DataRunStep', 'step'),
  ...node('DataPackage', 'package'),
  ...node('Dataset', 'dataset'),
  ...node('ExportExecution', 'execution'),
  ...node('ExportPackage', 'exportPackage'),
  ...node('ExportDelivery', 'delivery'),
  'Query.viewer': { query: '{ it: viewer { subject permissions } }', variables: () => ({}), roles: anybody },
  'Query.lifecycles': { query: '{ it: lifecycles { name } }', variables: () => ({}), roles: anybody },
  'Query.workspace': {
    query: 'query ($slug: String!) { it: workspace(slug: $slug) { id } }',
    variables: ({ slug }) => ({ slug }),
    roles: reading('null'),
  },
  // A list has no place: `find` says whether the place's workspace is in it.
  'Query.workspaces': {
    query: '{ it: workspaces { edges { node { id slug } } } }',
    variables: ({ workspace }) => ({ find: workspace }),
    roles: reading('without'),
  },
  'Query.dataRun': {
    query: 'query ($id: ID!) { it: dataRun(id: $id) { id } }',
    variables: ({ run }) => ({ id: run }),
    roles: reading('null'),
  },
  'Query.exportExecution': {
    query: 'query ($id: ID!) { it: exportExecution(id: $id) { id } }',
    variables: ({ execution }) => ({ id: execution }),
    roles: reading('null'),
  },
  'Mutation.createWorkspace': {
    query: `mutation ($input: CreateWorkspaceInput!) { it: createWorkspace(input: $input) { __typename ${refusal} } }`,
    variables: ({ slug }) => ({ input: { slug, name: 'Again' } }),
    roles: {
      ...(Object.fromEntries(roleNames.map((role) => [role, same('ForbiddenError workspace:admin')])) as unknown as Row['roles']),
      'no token': refused,
      'expired token': refused,
      // Named, so it may learn that the slug is taken. Not named: the same whether it is taken or not.
      'workspace:admin': ['ConflictError', 'ForbiddenError workspace:admin', 'ForbiddenError workspace:admin'],
      admin: ['ConflictError', 'ForbiddenError workspace:admin', 'ForbiddenError workspace:admin'],
      everywhere: ['ConflictError', 'ConflictError', 'found'],
    },
  },
  'Mutation.stagePackage': command('stagePackage', ({ workspace }) => ({ workspaceId: workspace }), 'found'),
  'Mutation.registerDataRun': command(
    'registerDataRun',
    ({ workspace, staged }) => ({ workspaceId: workspace, packageId: staged }),
    'ConflictError',
  ),
  'Mutation.planDataRun': command('planDataRun', ({ run }) => ({ dataRunId: run }), 'InvalidTransitionError'),
  'Mutation.startDataRun': command('startDataRun', ({ run }) => ({ dataRunId: run }), 'InvalidTransitionError'),
  'Mutation.pauseDataRun': command('pauseDataRun', ({ waiting }) => ({ dataRunId: waiting }), 'InvalidTransitionError'),
  'Mutation.resumeDataRun': command('resumeDataRun', ({ run }) => ({ dataRunId: run }), 'InvalidTransitionError'),
  'Mutation.advanceDataRun': command('advanceDataRun', ({ run }) => ({ dataRunId: run }), 'InvalidTransitionError'),
  'Mutation.cancelDataRun': command('cancelDataRun', ({ run }) => ({ dataRunId: run }), 'InvalidTransitionError'),
  'Mutation.renewDataRunGrant': command('renewDataRunGrant', ({ run }) => ({ dataRunId: run }), 'ConflictError'),
  'Mutation.revokeDataRunGrant': command('revokeDataRunGrant', ({ run }) => ({ dataRunId: run }), 'found'),
  // With a key that is too long, so that no cell takes anything back. It is the target that the one with data-run alone lacks.
  'Mutation.resetDataRun': {
    ...command('resetDataRun', ({ run }) => ({ dataRunId: run, idempotencyKey: 'x'.repeat(2_000) }), 'InvalidInputError'),
    roles: { ...acting('data-run', 'InvalidInputError'), 'data-run': ['ForbiddenError target:store', 'NotFoundError', 'NotFoundError'] },
  },
  // The same here.
  'Mutation.settleSubmission': {
    ...command('settleSubmission', ({ step }) => ({ dataRunStepId: step, outcome: 'NEVER_CREATED' }), 'ConflictError'),
    roles: { ...acting('data-run', 'ConflictError'), 'data-run': ['ForbiddenError target:store', 'NotFoundError', 'NotFoundError'] },
  },
  'Mutation.updateExportSettings': command(
    'updateExportSettings',
    ({ workspace }) => ({ workspaceId: workspace }),
    'found',
    'workspace:admin',
  ),
  // With a name that is too long, so that no cell calls anybody.
  'Mutation.pingDestination': command(
    'pingDestination',
    ({ workspace }) => ({ workspaceId: workspace, name: 'x'.repeat(101) }),
    'InvalidInputError',
    'workspace:admin',
  ),
  'Mutation.revokeAccess': command(
    'revokeAccess',
    ({ workspace }) => ({ workspaceId: workspace, subject: 'somebody else' }),
    'found',
    'workspace:admin',
  ),
  'Mutation.restoreAccess': command(
    'restoreAccess',
    ({ workspace }) => ({ workspaceId: workspace, subject: 'somebody else' }),
    'found',
    'workspace:admin',
  ),
  // With a key that is too long, so that no cell makes one.
  'Mutation.requestWorkspaceExport': command(
    'requestWorkspaceExport',
    ({ workspace }) => ({ workspaceId: workspace, idempotencyKey: 'x'.repeat(2_000) }),
    'InvalidInputError',
    'data-export:execute',
  ),
  'Mutation.cancelExportExecution': command(
    'cancelExportExecution',
    ({ execution }) => ({ exportExecutionId: execution }),
    'InvalidTransitionError',
    'data-export:execute',
  ),
  'Mutation.republishExport': command(
    'republishExport',
    ({ execution }) => ({ exportExecutionId: execution }),
    'ConflictError',
    'data-export:execute',
  ),
  'Mutation.issueDownloadLink': command(
    'issueDownloadLink',
    ({ exportPackage }) => ({ exportPackageId: exportPackage }),
    'found',
    'data-export:execute',
  ),
  'Mutation.issueRejectedRowsLink': command('issueRejectedRowsLink', ({ run }) => ({ dataRunId: run }), 'ConflictError', 'workspace:read'),
  'Mutation.redeliver': command('redeliver', ({ delivery }) => ({ exportDeliveryId: delivery }), 'ConflictError', 'data-export:execute'),
  'Mutation.revokeDownloadLinks': command(
    'revokeDownloadLinks',
    ({ exportPackage }) => ({ exportPackageId: exportPackage }),
    'found',
    'data-export:execute',
  ),
  'Subscription.exportExecutionEvents': {
    query: 'subscription ($id: ID!, $after: String) { it: exportExecutionEvents(id: $id, after: $after) { id } }',
    variables: ({ execution, cursor }) => ({ id: execution, after: cursor }),
    roles: reading('NOT_FOUND'),
  },
  'Subscription.exportExecutionProgress': {
    query: 'subscription ($id: ID!) { it: exportExecutionProgress(id: $id) { state } }',
    variables: ({ execution }) => ({ id: execution }),
    roles: reading('NOT_FOUND'),
  },
  'Subscription.dataRunEvents': {
    query: 'subscription ($id: ID!, $after: String) { it: dataRunEvents(id: $id, after: $after) { id } }',
    variables: ({ run, cursor }) => ({ id: run, after: cursor }),
    roles: reading('NOT_FOUND'),
  },
  'Subscription.workspaceEvents': {
    query: 'subscription ($id: ID!, $after: String) { it: workspaceEvents(workspace: $id, after: $after) { id } }',
    variables: ({ workspace, cursor }) => ({ id: workspace, after: cursor }),
    roles: reading('NOT_FOUND'),
  },
  'Subscription.dataRunProgress': {
    query: 'subscription ($id: ID!) { it: dataRunProgress(id: $id) { state } }',
    variables: ({ run }) => ({ id: run }),
    roles: reading('NOT_FOUND'),
  },
};
