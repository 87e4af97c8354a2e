// One picture a row: horizontal bars, ours first. Drawn for light and dark pages alike, without a library.
import { shown } from '../figures.mjs'

const size = { width: 760, label: 230, value: 110, bar: 20, gap: 8, top: 46 }
const style = `
  text { font: 13px -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #24292f }
  .title { font-weight: 600; font-size: 14px } .unit { fill: #57606a }
  .ours { fill: #1a7f37 } .peer { fill: #8c959f } .floor { fill: #d4a72c } .other { fill: #54aeff }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .unit { fill: #8d96a0 }
    .ours { fill: #3fb950 } .peer { fill: #6e7681 } .floor { fill: #bb8009 } .other { fill: #388bfd }
  }`

/** The bars of a row, in the order they are drawn. Nothing to compare with: nothing to draw. */
export function barsOf(entry) {
  const some = (values, kind, prefix = '') =>
    Object.entries(values)
      .filter(([, value]) => value !== null)
      .map(([name, value]) => ({ name: prefix + name, value, kind }))
  if (entry.holdfast === null) return []
  const bars = [
    { name: 'Holdfast', value: entry.holdfast, kind: 'ours' },
    ...some(entry.peers, 'peer'),
    ...some(entry.floors, 'floor', 'floor: '),
    ...some(entry.others, 'other'),
  ]
  return bars.length > 1 ? bars : []
}

export function drawChart(entry) {
  const bars = barsOf(entry)
  const { width, label, value, bar, gap, top } = size
  const height = top + bars.length * (bar + gap) + 6
  const longest = Math.max(...bars.map((one) => one.value)) || 1
  const room = width - label - value
  const lines = bars.map((one, i) => {
    const y = top + i * (bar + gap)
    const long = Math.max(1, (one.value / longest) * room)
    return `  <text x="${label - 10}" y="${y + 15}" text-anchor="end">${escaped(one.name)}</text>
  <rect class="${one.kind}" x="${label}" y="${y}" width="${long.toFixed(1)}" height="${bar}" rx="3"/>
  <text x="${(label + long + 8).toFixed(1)}" y="${y + 15}">${shown(one.value)}</text>`
  })
  const unit = `${entry.unit}, ${entry.better === 'lower' ? 'shorter' : 'longer'} is better`
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(entry.title)}">
  <style>${style}
  </style>
  <text class="title" x="0" y="16">${escaped(entry.title)}</text>
  <text class="unit" x="0" y="34">${escaped(unit)}</text>
${lines.join('\n')}
</svg>
`
}

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
