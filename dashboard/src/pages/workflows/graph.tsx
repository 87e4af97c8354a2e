import { graphlib, layout } from '@dagrejs/dagre'
import { useMemo } from 'react'
import type { TaskAnswer } from '../../../../src/api/executions.js'
import { addressOf } from '../../routing.js'
import { stateOf } from './execution-status.js'

interface GraphProps {
  readonly tasks: readonly TaskAnswer[]
  /** The jobs of tasks that have one for each item. */
  readonly items: readonly TaskAnswer[]
}

interface Drawn {
  readonly width: number
  readonly height: number
  readonly places: ReadonlyMap<string, { readonly x: number; readonly y: number }>
  readonly lines: readonly string[]
}

const box = { width: 168, height: 46 }
/** Names longer than this do not fit into a box; the whole name is in its title. */
const longest = 20

/** The tasks as boxes with arrows from what has to end first. Where the boxes stand is computed once; only colours change while it runs. */
export function Graph({ tasks, items }: GraphProps) {
  const shape = tasks.map(({ name, after }) => `${name}<${after.join(',')}`).join(';')
  // The shape says everything that the places depend on.
  const drawn = useMemo(() => draw(tasks), [shape])
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and the keyboard has to reach it
    <section className="graph" tabIndex={0} aria-label="Graph of the tasks">
      {/* biome-ignore lint/a11y/noSvgWithoutTitle: each box has its own title, and the section has a name */}
      <svg width={drawn.width} height={drawn.height} viewBox={`0 0 ${drawn.width} ${drawn.height}`}>
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path d="M0 0 8 4 0 8z" fill="var(--soft)" />
          </marker>
        </defs>
        {drawn.lines.map((line) => (
          <path key={line} d={line} fill="none" stroke="var(--soft)" markerEnd="url(#arrow)" />
        ))}
        {tasks.map((task) => (
          <TaskBox
            key={task.name}
            task={task}
            items={items.filter(({ name }) => name === task.name)}
            at={drawn.places.get(task.name)}
          />
        ))}
      </svg>
    </section>
  )
}

function TaskBox({
  task,
  items,
  at = { x: 0, y: 0 },
}: {
  task: TaskAnswer
  items: readonly TaskAnswer[]
  at: { x: number; y: number } | undefined
}) {
  const { name, status, job_id, workflow } = task
  const done = items.filter((one) => one.status === 'completed').length
  const words = items.length > 0 ? `${status}, ${done} of ${items.length}` : status
  const content = (
    <g data-status={stateOf(status)} transform={`translate(${at.x - box.width / 2} ${at.y - box.height / 2})`} className="task">
      <title>{`${name}: ${words}`}</title>
      <rect {...box} rx="6" />
      <rect width="4" height={box.height} rx="2" className="mark" />
      <text x="14" y="19">
        {name.length > longest ? `${name.slice(0, longest - 1)}…` : name}
      </text>
      <text x="14" y="36" className="state">
        {words}
      </text>
    </g>
  )
  if (job_id === null) return content
  return <a href={addressOf(workflow === null ? `/jobs/${job_id}` : `/workflows/${job_id}`)}>{content}</a>
}

function draw(tasks: readonly TaskAnswer[]): Drawn {
  const graph = new graphlib.Graph()
  graph.setGraph({ rankdir: 'LR', nodesep: 18, ranksep: 48, marginx: 8, marginy: 8 })
  graph.setDefaultEdgeLabel(() => ({}))
  for (const { name } of tasks) graph.setNode(name, { ...box })
  for (const { name, after } of tasks) for (const parent of after) if (graph.hasNode(parent)) graph.setEdge(parent, name)
  layout(graph)
  const { width = 0, height = 0 } = graph.graph() as { width?: number; height?: number }
  const places = new Map(tasks.map(({ name }) => [name, graph.node(name) as { x: number; y: number }]))
  const lines = graph.edges().map((edge) => {
    const points = (graph.edge(edge) as { points: readonly { x: number; y: number }[] }).points
    return curve(points)
  })
  return { width, height, places, lines }
}

/** A line through the points whose corners are rounded. */
function curve(points: readonly { readonly x: number; readonly y: number }[]): string {
  const at = ({ x, y }: { x: number; y: number }) => `${x.toFixed(1)} ${y.toFixed(1)}`
  const [first, ...rest] = points
  const last = rest.at(-1)
  if (!first || !last) return ''
  const bends = rest.slice(0, -1).map((point, position) => {
    const next = rest[position + 1] ?? last
    return `Q${at(point)} ${at({ x: (point.x + next.x) / 2, y: (point.y + next.y) / 2 })}`
  })
  return `M${at(first)} ${bends.join(' ')} L${at(last)}`
}
