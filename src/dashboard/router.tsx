// The addresses of the pages. What is searched for and where one is in a list stands in them, so that a page can be sent to somebody.
import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import type { RowSearch } from './datasets/dataset-page.tsx';
import { Frame } from './frame.tsx';
import { placeIn } from './paging.tsx';
import { Broken, Missing } from './said.tsx';
import { parseListSearch } from './workspaces/list-search.ts';
import { WorkspaceFrame } from './workspaces/workspace-frame.tsx';
import { WorkspacePage } from './workspaces/workspace-page.tsx';
import { WorkspacesPage } from './workspaces/workspaces-page.tsx';

const root = createRootRoute({ component: Frame, notFoundComponent: () => <Missing what="page" /> });

const workspaces = createRoute({
  getParentRoute: () => root,
  path: '/',
  component: WorkspacesPage,
  validateSearch: placeIn,
});

const workspace = createRoute({ getParentRoute: () => root, path: '/workspaces/$slug', component: WorkspaceFrame });

const workspaceLists = createRoute({
  getParentRoute: () => workspace,
  path: '/',
  component: WorkspacePage,
  validateSearch: parseListSearch,
});

const run = createRoute({
  getParentRoute: () => workspace,
  path: 'runs/$runId',
  component: lazyRouteComponent(() => import('./runs/run-page.tsx')),
  validateSearch: ({ step }: Record<string, unknown>): { readonly step?: string } => (typeof step === 'string' ? { step } : {}),
});

const load = createRoute({
  getParentRoute: () => workspace,
  path: 'load',
  component: lazyRouteComponent(() => import('./load/load-page.tsx')),
});

const exportExecution = createRoute({
  getParentRoute: () => workspace,
  path: 'exports/$exportId',
  component: lazyRouteComponent(() => import('./exports/export-page.tsx')),
});

const exportSettings = createRoute({
  getParentRoute: () => workspace,
  path: 'export-settings',
  component: lazyRouteComponent(() => import('./exports/export-settings-page.tsx')),
});

const access = createRoute({
  getParentRoute: () => workspace,
  path: 'access',
  component: lazyRouteComponent(() => import('./workspaces/access-page.tsx')),
});

const dataset = createRoute({
  getParentRoute: () => workspace,
  path: 'datasets/$dataset',
  component: lazyRouteComponent(() => import('./datasets/dataset-page.tsx')),
  validateSearch: ({ row, ...place }: Record<string, unknown>): RowSearch => ({
    ...placeIn(place),
    ...(typeof row === 'string' ? { row } : {}),
  }),
});

const lifecycles = createRoute({
  getParentRoute: () => root,
  path: '/lifecycles',
  component: lazyRouteComponent(() => import('./lifecycles/lifecycle-pages.tsx'), 'LifecyclesPage'),
});

const runLifecycle = createRoute({
  getParentRoute: () => workspace,
  path: 'runs/$runId/lifecycle',
  component: lazyRouteComponent(() => import('./lifecycles/lifecycle-pages.tsx'), 'RunLifecyclePage'),
});

const exportLifecycle = createRoute({
  getParentRoute: () => workspace,
  path: 'exports/$exportId/lifecycle',
  component: lazyRouteComponent(() => import('./lifecycles/lifecycle-pages.tsx'), 'ExportLifecyclePage'),
});

export const router = createRouter({
  routeTree: root.addChildren([
    workspaces,
    lifecycles,
    workspace.addChildren([workspaceLists, run, runLifecycle, load, exportExecution, exportLifecycle, exportSettings, access, dataset]),
  ]),
  defaultErrorComponent: Broken,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
