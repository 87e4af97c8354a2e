import { inWords } from '../../parts/time.js'

/** The same at all times and of all types, so that one shade means one length; of the bounds of the histogram that the values come from. */
const upTo = [0.1, 1, 10, 60, 900]
const words = ['up to 100 ms', '1 s', '10 s', '1 min', '15 min', 'longer']
const cell = { width: 12, height: 16 }

const shadeOf = (seconds: number) => {
  const shade = upTo.findIndex((bound) => seconds <= bound)
  return shade < 0 ? upTo.length : shade
}

interface HeatRowProps {
  /** In seconds, one for each step; null: nothing happened in it. */
  readonly values: readonly (number | null)[]
  readonly from: number
  readonly stepMs: number
  /** What it shows, to those who do not see it. */
  readonly of: string
}

/** A line of a heat map: a cell for each step, the stronger its colour the longer. */
export function HeatRow({ values, from, stepMs, of }: HeatRowProps) {
  const said = (value: number | null) => (value === null ? 'none' : inWords(value * 1_000))
  const known = values.filter((value) => value !== null)
  const most = known.length === 0 ? 'nothing' : `${said(known.at(-1) ?? null)} at last, at most ${said(Math.max(...known))}`
  return (
    <svg
      className="heat"
      viewBox={`0 0 ${values.length * cell.width} ${cell.height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`${of}: ${most}`}
    >
      {values.map((value, step) => (
        <rect
          key={from + step * stepMs}
          x={step * cell.width}
          width={cell.width - 1}
          height={cell.height}
          data-shade={value === null ? undefined : shadeOf(value)}
        >
          <title>{`until ${time.format(from + (step + 1) * stepMs)}: ${said(value)}`}</title>
        </rect>
      ))}
    </svg>
  )
}

/** What the shades mean. */
export function HeatLegend() {
  return (
    <ul className="heat-legend" aria-label="Shades of the heat map">
      {words.map((word, shade) => (
        <li key={word}>
          <svg className="heat" viewBox={`0 0 ${cell.width} ${cell.height}`} aria-hidden="true">
            <rect width={cell.width} height={cell.height} data-shade={shade} />
          </svg>
          {word}
        </li>
      ))}
    </ul>
  )
}

const time = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' })
