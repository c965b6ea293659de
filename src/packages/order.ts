// Which dataset waits for which. A cycle has no order, so it is refused with the way round written out.
import { DepGraph, DepGraphCycleError } from 'dependency-graph';

/** Datasets by when they can begin: first those that wait for none, then those that wait for these alone, and so on. In each in package order. */
export function wavesOf<Dataset extends { readonly name: string; readonly dependsOn: readonly string[] }>(
  datasets: readonly Dataset[],
): Dataset[][] {
  const waves: Dataset[][] = [];
  const placed = new Set<string>();
  for (let left = [...datasets]; left.length > 0; ) {
    const wave = left.filter(({ dependsOn }) => dependsOn.every((name) => placed.has(name)));
    if (wave.length === 0) throw new Error('registration lets no cycle through');
    for (const { name } of wave) placed.add(name);
    left = left.filter(({ name }) => !placed.has(name));
    waves.push(wave);
  }
  return waves;
}

/** Enough to repair a package by; each needs another pass over the graph. */
const mostCycles = 20;

/** Every way round, as names that begin and end with the same dataset, the first in package order foremost. */
export function findCycles(dependencies: ReadonlyMap<string, readonly string[]>): string[][] {
  const graph = new DepGraph<undefined>();
  const cycles: string[][] = [];
  for (const name of dependencies.keys()) graph.addNode(name);
  for (const [name, names] of dependencies) {
    if (names.includes(name)) cycles.push([name, name]);
    for (const other of names) if (other !== name) graph.addDependency(name, other);
  }
  const position = new Map([...dependencies.keys()].map((name, index) => [name, index]));
  while (cycles.length < mostCycles) {
    const cycle = nextCycle(graph);
    if (cycle === null) break;
    const first = cycle.reduce((best, name) => ((position.get(name) ?? 0) < (position.get(best) ?? 0) ? name : best));
    const start = cycle.indexOf(first);
    cycles.push([...cycle.slice(start), ...cycle.slice(0, start), first]);
    // All links between its members, or the same tangle would be told in many ways.
    const members = new Set(cycle);
    for (const name of cycle) {
      for (const other of graph.directDependenciesOf(name)) if (members.has(other)) graph.removeDependency(name, other);
    }
  }
  return cycles;
}

function nextCycle(graph: DepGraph<undefined>): string[] | null {
  try {
    graph.overallOrder();
    return null;
  } catch (error) {
    if (!(error instanceof DepGraphCycleError)) throw error;
    // The path begins where the search did, which may be outside the cycle.
    const path = error.cyclePath;
    return path.slice(path.indexOf(path.at(-1) ?? ''), -1);
  }
}
