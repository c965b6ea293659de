// A lifecycle as it is drawn: states from left to right, one line for all the moves between the same two.
import { graphlib, layout } from '@dagrejs/dagre';
import { Fragment, useId, useMemo } from 'react';
import type { Lifecycle } from './lifecycle.ts';

const height = 40;
const lineHeight = 16;
const letter = 8; // widest of the drawing's letters, so that no word is longer than its box
const loopHeight = 22;
const margin = 12;
/** Where a subject comes from that is not there yet. No state is called so; dagre takes an empty name for none. */
const nowhere = '*';
const dot = { width: 12, height: 12 };

interface Point {
  readonly x: number;
  readonly y: number;
}

interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

interface Move {
  readonly from: string;
  readonly to: string;
  readonly actions: readonly string[];
}

interface LifecycleGraphProps {
  readonly lifecycle: Lifecycle;
  /** The state that something is in; null: of nothing in particular. */
  readonly current: string | null;
}

/** For the eye: what it says stands in the tables below, where the keyboard and screen readers find it. */
export function LifecycleGraph({ lifecycle, current }: LifecycleGraphProps) {
  const id = useId();
  const drawn = useMemo(() => drawingOf(lifecycle), [lifecycle]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard (WCAG 2.1.1)
    <section className="wide" aria-label={`Drawing of ${lifecycle.name}`} tabIndex={0}>
      <svg className="lifecycle" width={drawn.width} height={drawn.height} aria-hidden>
        <defs>
          {['idle', 'now'].map((tone) => (
            <marker
              key={tone}
              id={`${id}${tone}`}
              viewBox="0 0 8 8"
              refX="8"
              refY="4"
              markerWidth="11"
              markerHeight="11"
              markerUnits="userSpaceOnUse"
              orient="auto"
            >
              <path d="M0,0 L8,4 L0,8 Z" data-tone={tone} />
            </marker>
          ))}
        </defs>
        {drawn.moves.map(({ from, to, actions, points, x, y }) => {
          const tone = from === current ? 'now' : 'idle';
          return (
            <Fragment key={`${from} ${to}`}>
              <path className="move" d={curve(points)} data-tone={tone} markerEnd={`url(#${id}${tone})`} />
              {actions.map((action, line) => (
                <text key={action} x={x} y={y + (line - (actions.length - 1) / 2) * lineHeight} className="action" data-tone={tone}>
                  {action}
                </text>
              ))}
            </Fragment>
          );
        })}
        {drawn.states.map(({ name, terminal, x, y, width }) =>
          name === nowhere ? (
            <circle key={name} cx={x} cy={y} r={6} className="start" />
          ) : (
            <g key={name} data-drawn={name} data-tone={name === current ? 'now' : 'idle'}>
              <rect className="state" x={x - width / 2} y={y - height / 2} width={width} height={height} rx={8} />
              {terminal && (
                <rect className="state" x={x - width / 2 + 3} y={y - height / 2 + 3} width={width - 6} height={height - 6} rx={6} />
              )}
              <text x={x} y={y}>
                {name}
              </text>
            </g>
          ),
        )}
      </svg>
    </section>
  );
}

function drawingOf({ states, transitions }: Lifecycle) {
  const moves = new Map<string, Move>();
  for (const { from, to, action } of transitions) {
    const key = `${from ?? nowhere} ${to}`;
    const { actions = [] } = moves.get(key) ?? {};
    moves.set(key, { from: from ?? nowhere, to, actions: [...actions, action] });
  }
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: 'LR', nodesep: 28, ranksep: 36, edgesep: 24, marginx: margin, marginy: margin });
  const widthOf = (name: string) => name.length * letter + 28;
  const loops = [...moves.values()].filter(({ from, to }) => from === to);
  const loopRoom = ({ actions }: Move) => loopHeight + actions.length * lineHeight;
  if (transitions.some(({ from }) => from === null)) graph.setNode(nowhere, dot);
  // What leads to where it begins is drawn below its state, which has room above and below for it.
  for (const { name } of states) {
    const room = Math.max(0, ...loops.filter(({ from }) => from === name).map(loopRoom));
    graph.setNode(name, { width: widthOf(name), height: height + 2 * room });
  }
  for (const { from, to, actions } of moves.values()) {
    if (from === to) continue;
    const longest = Math.max(...actions.map((action) => action.length));
    graph.setEdge(from, to, { width: longest * letter, height: actions.length * lineHeight, labelpos: 'c' });
  }
  layout(graph);
  const boxOf = (name: string): Box => ({ ...placeOf(graph.node(name)), ...(name === nowhere ? dot : { width: widthOf(name), height }) });
  const terminals = new Set(states.filter(({ terminal }) => terminal).map(({ name }) => name));
  const { width = 0, height: tall = 0 } = graph.graph();
  return {
    width,
    height: tall,
    states: graph.nodes().map((name) => ({ name, terminal: terminals.has(name), width: widthOf(name), ...placeOf(graph.node(name)) })),
    moves: [...moves.values()].map((move) => {
      if (move.from === move.to) return { ...move, ...loopAt(placeOf(graph.node(move.from)), move.actions.length) };
      const line = graph.edge(move.from, move.to);
      const points = line.points.map(placeOf);
      const ends = { first: boxOf(move.from), last: boxOf(move.to) };
      // The room for loops is not part of the box that is seen.
      const [, second = ends.last] = points;
      const before = points.at(-2) ?? ends.first;
      return { ...move, points: [borderOf(ends.first, second), ...points.slice(1, -1), borderOf(ends.last, before)], ...placeOf(line) };
    }),
  };
}

/** Laid out, everything has a place. */
function placeOf({ x = 0, y = 0 }: { readonly x?: number; readonly y?: number }): Point {
  return { x, y };
}

function loopAt({ x, y }: Point, lines: number): Point & { readonly points: readonly Point[] } {
  const under = y + height / 2;
  const points = [-18, -26, 0, 26, 18].map((aside, index) => ({
    x: x + aside,
    y: index === 0 || index === 4 ? under : under + loopHeight,
  }));
  return { x, y: under + loopHeight + (lines * lineHeight) / 2, points };
}

/** Where a line from the middle of a box to a point outside leaves it. */
function borderOf({ x, y, width, height: tall }: Box, to: Point): Point {
  const [dx, dy] = [to.x - x, to.y - y];
  const part = Math.min(1, width / 2 / Math.abs(dx || 1e-9), tall / 2 / Math.abs(dy || 1e-9));
  return { x: x + dx * part, y: y + dy * part };
}

/** Round at every point between the first and the last. */
function curve([first, ...rest]: readonly Point[]): string {
  if (first === undefined) return '';
  const bends = rest.map((point, index) => {
    const next = rest[index + 1];
    return next === undefined ? `L${point.x},${point.y}` : `Q${point.x},${point.y} ${(point.x + next.x) / 2},${(point.y + next.y) / 2}`;
  });
  return `M${first.x},${first.y} ${bends.join(' ')}`;
}
