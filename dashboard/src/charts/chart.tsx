import 'uplot/dist/uPlot.min.css'
import { useEffect, useRef, useState } from 'react'
import uPlot from 'uplot'
import { DataTable } from './data-table.js'
import type { ChartProps, Mark } from './line.js'

const height = 150
const narrowest = 220

/** One chart. Loaded when the first is shown: the library that draws is as large as the rest of the page. All charts share one crosshair. */
export default function Chart({ title, times, lines, marks, inWords, onAxis }: ChartProps) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const shown = useRef(marks)
  shown.current = marks
  const [at, setAt] = useState<number>()
  const theme = useTheme()
  const names = lines.map(({ name }) => name).join()

  // Made anew for other lines or colours; new values go into the plot that is there.
  useEffect(() => {
    const box = place.current as HTMLDivElement
    const made = new uPlot(
      optionsOf({ width: Math.max(narrowest, box.clientWidth), lines, onAxis, marks: () => shown.current, hovered: setAt }),
      dataOf(times, lines),
      box,
    )
    plot.current = made
    const resized = new ResizeObserver(() => made.setSize({ width: Math.max(narrowest, box.clientWidth), height }))
    resized.observe(box)
    return () => {
      resized.disconnect()
      made.destroy()
      plot.current = undefined
    }
  }, [names, theme])

  useEffect(() => plot.current?.setData(dataOf(times, lines)), [times, lines])

  const last = at ?? times.length - 1
  const near = at === undefined ? undefined : markNear(marks, times, at)
  return (
    <figure className="chart">
      <figcaption>
        <b>{title}</b>
        <small>{near?.text ?? (at === undefined || times[at] === undefined ? '' : timeOf(times[at]))}</small>
        <span className="legend">
          {lines.map(({ name, status, dash, values }) => (
            <span key={name} className="status" data-status={status}>
              <svg viewBox="0 0 16 8" aria-hidden="true">
                <line x1="0" x2="16" y1="4" y2="4" stroke="currentColor" strokeWidth="2.5" strokeDasharray={dash?.join(' ')} />
              </svg>
              {name} {say(values[last], inWords)}
            </span>
          ))}
        </span>
      </figcaption>
      <div ref={place} className="plot" role="img" aria-label={`${title}: ${summary(lines, inWords)}`} />
      <DataTable title={title} times={times} lines={lines} inWords={inWords} timeOf={timeOf} />
    </figure>
  )
}

const say = (value: number | null | undefined, inWords: (value: number) => string) =>
  value === null || value === undefined ? '–' : inWords(value)

function summary(lines: ChartProps['lines'], inWords: ChartProps['inWords']): string {
  return lines
    .map(({ name, values }) => `${name} ${say(values.at(-1), inWords)}, at most ${say(most(values), inWords)}`)
    .join('; ')
}

const most = (values: readonly (number | null)[]) =>
  values.reduce((high, value) => (value === null ? high : Math.max(high ?? value, value)), null as number | null)

const clock = new Intl.DateTimeFormat(undefined, {
  ...{ month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
})
const timeOf = (seconds: number) => clock.format(new Date(seconds * 1_000))
const hours = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const days = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' })

/** The mark beside the crosshair. */
function markNear(marks: readonly Mark[], times: readonly number[], at: number): Mark | undefined {
  const within = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 100
  const distance = (mark: Mark) => Math.abs(mark.at - (times[at] ?? 0))
  const [nearest] = [...marks].sort((one, other) => distance(one) - distance(other))
  return nearest && distance(nearest) <= within ? nearest : undefined
}

const dataOf = (times: readonly number[], lines: ChartProps['lines']) =>
  [times, ...lines.map(({ values }) => values)] as unknown as uPlot.AlignedData

interface Drawing extends Pick<ChartProps, 'lines' | 'onAxis'> {
  readonly width: number
  readonly marks: () => readonly Mark[]
  readonly hovered: (at: number | undefined) => void
}

function optionsOf({ width, lines, onAxis, marks, hovered }: Drawing): uPlot.Options {
  const colours = getComputedStyle(document.documentElement)
  const colour = (name: string) => colours.getPropertyValue(`--${name}`).trim()
  const axis = {
    stroke: colour('soft'),
    font: `11px ${getComputedStyle(document.body).fontFamily}`,
    grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false },
  }
  return {
    width,
    height,
    legend: { show: false },
    cursor: { y: false, sync: { key: 'holdfast' }, drag: { x: false, y: false }, points: { size: 6 } },
    padding: [6, 20, 0, 0],
    scales: { y: { range: (_plot, _low, high) => [0, Math.max(high, 1e-9) * 1.08] } },
    axes: [
      {
        ...axis,
        space: 64,
        size: 26,
        values: (_plot, ticks, _axis, _space, every) =>
          ticks.map((tick) => (every >= 86_400 ? days : hours).format(new Date(tick * 1_000))),
      },
      { ...axis, size: 56, space: 32, values: (_plot, ticks) => ticks.map(onAxis) },
    ],
    series: [
      {},
      ...lines.map(({ name, status, dash, fill }) => ({
        label: name,
        stroke: colour(status),
        width: 1.5,
        points: { show: false },
        ...(dash && { dash: [...dash] }),
        ...(fill && { fill: `${colour(status)}22` }),
      })),
    ],
    hooks: {
      draw: [(plot) => drawMarks(plot, marks(), colour('accent'))],
      setCursor: [({ cursor: { idx } }) => hovered(idx ?? undefined)],
    },
  }
}

/** What people changed, as lines through all charts: a change of a curve is seen beside what it came of. */
function drawMarks({ ctx, bbox, valToPos }: uPlot, marks: readonly Mark[], colour: string): void {
  ctx.save()
  ctx.strokeStyle = colour
  ctx.fillStyle = colour
  ctx.lineWidth = devicePixelRatio
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio])
  for (const { at } of marks) {
    const x = Math.round(valToPos(at, 'x', true))
    if (x < bbox.left || x > bbox.left + bbox.width) continue
    ctx.beginPath()
    ctx.moveTo(x, bbox.top)
    ctx.lineTo(x, bbox.top + bbox.height)
    ctx.stroke()
    ctx.beginPath()
    ctx.arc(x, bbox.top + 3 * devicePixelRatio, 3 * devicePixelRatio, 0, 2 * Math.PI)
    ctx.fill()
  }
  ctx.restore()
}

/** Canvases have no colours of the style sheet: they are drawn again when the theme changes. */
function useTheme(): string | undefined {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme)
  useEffect(() => {
    const seen = new MutationObserver(() => setTheme(document.documentElement.dataset.theme))
    seen.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] })
    return () => seen.disconnect()
  }, [])
  return theme
}
