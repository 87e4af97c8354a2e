import type { Mark } from './line.js'

interface Started {
  readonly name: string
  readonly version: string
  readonly types: readonly string[]
  readonly started_at: string
}

/** Starts that lie closer together are one deploy. */
const togetherMs = 300_000

/** When workers of a type, or of any, started since then, as marks for charts. */
export function startsOf(workers: readonly Started[], type: string | undefined, sinceMs: number): Mark[] {
  const starts = workers
    .filter(({ types }) => type === undefined || types.includes(type))
    .map(({ name, version, started_at }) => ({ name, version, at: Date.parse(started_at) }))
    .filter(({ at }) => at >= sinceMs)
    .sort((one, other) => one.at - other.at)
  const deploys: (typeof starts)[] = []
  for (const start of starts) {
    const last = deploys.at(-1)
    if (last?.[0] && start.at - last[0].at < togetherMs) last.push(start)
    else deploys.push([start])
  }
  return deploys.map((together) => {
    const [{ name, version, at }] = together as [(typeof starts)[0]]
    const who = together.length === 1 ? `worker ${name} started` : `${together.length} workers started`
    return { at: at / 1_000, text: `${who}, Holdfast ${version}` }
  })
}
