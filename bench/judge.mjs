// Turns what was measured into rows: our figure, each peer's, the floor's, the ratio and whether the bar is met.
import { shown } from './figures.mjs'

/**
 * A row says which figure of which contestants it compares, and its bars:
 *   { against, atLeast | atMost | below, figure?, stretch?, text? }   our figure divided by that contestant's
 *   { value: true, atLeast | atMost | below, figure?, text? }        our figure itself; its ratio is to the bar
 * `of` names another contestant than ours, `againstFigure` another figure of the other one.
 * A row's ratio is the one of its hardest bar, the stretch left out.
 */
export function judge(row, size, figures) {
  const ours = row.holdfast ?? 'holdfast'
  const get = (contestant, figure = row.figure) => figures[contestant]?.[figure]?.median
  const all = (names = []) => Object.fromEntries(names.map((name) => [name, get(name) ?? null]))
  const bars = row.bars.map((bar) => judgeBar(bar, row, ours, get))
  const demanded = bars.filter((bar) => !bar.stretch)
  const hardest = [...demanded].sort((a, b) => a.margin - b.margin)[0]
  const floors = Object.fromEntries(Object.entries(row.floors ?? {}).map(([label, name]) => [label, get(name) ?? null]))
  return {
    name: row.name,
    title: row.title(size),
    unit: row.unit,
    better: row.better ?? 'higher',
    holdfast: get(ours) ?? null,
    spread: spreadOf(figures[ours]?.[row.figure]),
    peers: all(row.peers),
    floor: Object.values(floors)[0] ?? null,
    floors,
    others: all(row.others),
    ratio: hardest?.ratio ?? null,
    bar: bars.map((bar) => bar.text).join('; '),
    met: demanded.length === 0 ? null : demanded.every((bar) => bar.met),
    bars: bars.map(({ margin, ...bar }) => bar),
  }
}

function judgeBar(bar, row, ours, get) {
  const value = get(bar.of ?? ours, bar.figure)
  const other = bar.value ? (bar.atLeast ?? bar.atMost ?? bar.below) : get(bar.against, bar.againstFigure ?? bar.figure)
  const ratio = value === undefined || other === undefined ? null : value / other
  const limit = bar.value ? 1 : (bar.atLeast ?? bar.atMost ?? bar.below)
  const met =
    ratio !== null && (bar.atLeast !== undefined ? ratio >= limit : bar.below !== undefined ? ratio < limit : ratio <= limit)
  const margin = ratio === null ? Number.NEGATIVE_INFINITY : bar.atLeast !== undefined ? ratio / limit : limit / ratio
  return { text: bar.text ?? describe(bar, row), ratio, met, stretch: bar.stretch ?? false, margin }
}

function describe(bar, row) {
  const sign = bar.atLeast !== undefined ? '≥' : bar.below !== undefined ? '<' : '≤'
  const limit = shown(bar.atLeast ?? bar.atMost ?? bar.below)
  const text = bar.value ? `${sign} ${limit} ${row.unit}` : `${sign} ${limit}× ${bar.against}`
  return bar.stretch ? `stretch: ${text}` : text
}

/** Half the distance between the lowest and the highest round, in percent of the middle one. */
function spreadOf(figure) {
  if (!figure || figure.rounds < 2) return null
  return Math.round(((figure.highest - figure.lowest) / 2 / figure.median) * 100)
}
