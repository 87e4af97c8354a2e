import type { Mark } from './line.js'

interface Started {
  readonly name: string
  readonly version: string
  readonly build: string | null
  readonly types: readonly string[]
  readonly started_at: string
}

interface Seen {
  readonly build: string
  readonly first_seen: string
}

interface Start {
  readonly at: number
  /** undefined: a build of which no worker is known to have started then. */
  readonly worker?: Started
  readonly build: string | null
}

/** Starts that lie closer together are one deploy. */
const togetherMs = 300_000

/**
 * When workers of a type, or of any, started since then, and when builds were first seen, as marks for charts. A build stays known when its workers are
 * gone, so past deploys stay.
 */
export function startsOf(
  { workers, builds }: { workers: readonly Started[]; builds: readonly Seen[] },
  type: string | undefined,
  sinceMs: number,
): Mark[] {
  const runs = (worker: Started) => type === undefined || worker.types.includes(type)
  /** Of which it is known that it does not run the type. */
  const elsewhere = new Set(workers.filter((worker) => !runs(worker)).map(({ build }) => build))
  for (const worker of workers) if (runs(worker)) elsewhere.delete(worker.build)
  const starts: Start[] = [
    ...workers.filter(runs).map((worker) => ({ at: Date.parse(worker.started_at), worker, build: worker.build })),
    ...builds
      .filter(({ build }) => !elsewhere.has(build))
      .map(({ build, first_seen }) => ({ at: Date.parse(first_seen), build })),
  ]
  const deploys: Start[][] = []
  for (const start of starts.filter(({ at }) => at >= sinceMs).sort((one, other) => one.at - other.at)) {
    const last = deploys.at(-1)
    if (last?.[0] && start.at - last[0].at < togetherMs) last.push(start)
    else deploys.push([start])
  }
  return deploys.map((together) => ({ at: (together[0] as Start).at / 1_000, text: inWords(together) }))
}

function inWords(together: readonly Start[]): string {
  const builds = [...new Set(together.flatMap(({ build }) => build ?? []))]
  const code = builds.length === 0 ? '' : `build ${builds.join(', ')}`
  const [first, ...others] = together.flatMap(({ worker }) => worker ?? [])
  if (!first) return `${code} was new`
  const who = others.length === 0 ? `worker ${first.name} started` : `${others.length + 1} workers started`
  return `${who}, ${code || `Holdfast ${first.version}`}`
}
