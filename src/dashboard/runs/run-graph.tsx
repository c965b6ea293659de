// The datasets by their foreign keys, from left to right: what has to be there first. Loaded when it is shown.
import '@xyflow/react/dist/style.css';
import { graphlib, layout } from '@dagrejs/dagre';
import { useComputedColorScheme } from '@mantine/core';
import { type Edge, type Node, Position, ReactFlow } from '@xyflow/react';
import { useMemo } from 'react';
import { toneOf } from '../said.tsx';
import type { Run } from './run.ts';

const width = 190;
const height = 56;

type Step = Run['steps'][number];

/** For the eye: what it says stands in the table below, where the keyboard and screen readers find it. */
export default function RunGraph({ steps }: { readonly steps: readonly Step[] }) {
  const colorMode = useComputedColorScheme('light');
  const shape = steps.map(({ dataset, dependsOn }) => `${dataset}<${dependsOn.join(',')}`).join(';');
  // biome-ignore lint/correctness/useExhaustiveDependencies: steps are new at each reading, and lie the same as long as they depend the same
  const { places, drawn } = useMemo(() => ({ places: placesOf(steps), drawn: new WeakMap<Step, Drawn>() }), [shape]);
  // A step is the same object for as long as nothing of it changes, and so is its node: only what has changed is drawn again.
  const parts = steps.map((step) => {
    const known = drawn.get(step) ?? drawnOf(step, places.get(step.dataset) ?? { x: 0, y: 0 });
    drawn.set(step, known);
    return known;
  });
  const nodes = parts.map(({ node }) => node);
  const edges = parts.flatMap((part) => part.edges);
  const tall = Math.max(...[...places.values()].map(({ y }) => y)) + height;
  return (
    <figure className="graph" aria-label="The datasets by their foreign keys" style={{ height: Math.min(480, tall + 60) }}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        colorMode={colorMode}
        fitView
        fitViewOptions={{ maxZoom: 1, padding: 0.05 }}
        minZoom={0.1}
        nodesDraggable={false}
        nodesConnectable={false}
        elementsSelectable={false}
        zoomOnScroll={false}
        preventScrolling={false}
        disableKeyboardA11y
      />
    </figure>
  );
}

interface Drawn {
  readonly node: Node;
  readonly edges: readonly Edge[];
}

function drawnOf(step: Step, position: Node['position']): Drawn {
  const { dataset, dependsOn, state } = step;
  return {
    node: {
      id: dataset,
      position,
      data: { label: <Label step={step} /> },
      width,
      height,
      sourcePosition: Position.Right,
      targetPosition: Position.Left,
      focusable: false,
    },
    edges: dependsOn.map((source) => ({
      id: `${source} ${dataset}`,
      source,
      target: dataset,
      animated: state === 'ACTIVE',
      focusable: false,
    })),
  };
}

function Label({ step: { dataset, state, rows } }: { readonly step: Step }) {
  return (
    <>
      <div>
        <span className="dot" data-tone={toneOf(state)} /> {dataset}
      </div>
      <small>
        {state}
        {rows.source === '0' ? '' : ` · ${BigInt(rows.source).toLocaleString('en')} rows`}
      </small>
    </>
  );
}

function placesOf(steps: readonly Step[]): Map<string, { x: number; y: number }> {
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: 'LR', nodesep: 16, ranksep: 48 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { dataset } of steps) graph.setNode(dataset, { width, height });
  for (const { dataset, dependsOn } of steps) for (const source of dependsOn) graph.setEdge(source, dataset);
  layout(graph);
  // dagre’s places are middles.
  return new Map(
    steps.map(({ dataset }) => {
      const { x, y } = graph.node(dataset);
      return [dataset, { x: x - width / 2, y: y - height / 2 }];
    }),
  );
}
