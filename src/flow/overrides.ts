/** What an operator said of one field. It counts until it is released, whatever the code says. */
export interface Override {
  /** Of a limit `maxRunning`, `rate` …; of a lane `slots` …; of a type `timeout` …. Times are in milliseconds. */
  field: string
  value: unknown
  by: string
  /** When it is over; null: not before it is released. */
  until: Date | null
  /** What the code says, which counts then; null: nothing. */
  code: unknown
}

/** How it is stored. */
export interface ToldOverride extends Omit<Override, 'until'> {
  until: number | null
}

/** Fields that are stored apart and said as one, by the beginning of their names. */
const parts: readonly [RegExp, string][] = [
  [/^rate_(count|per_ms)$/, 'rate'],
  [/^key_rate_(count|per_ms)$/, 'ratePerKey'],
  [/^breaker_(.*)$/, 'breaker'],
]
const names: Readonly<Record<string, string>> = {
  key_max_running: 'maxRunningPerKey',
  poll_ms: 'poll',
  lease_ms: 'lease',
  ageing_ms: 'ageing',
  timeout_ms: 'timeout',
  encrypted: 'encrypt',
  uniqueness: 'unique',
  per_ms: 'perMs',
  window_ms: 'windowMs',
  probe_ms: 'probeMs',
}

/** Overrides of stored fields under the names that people know, the parts of one field together. */
export function overrides(told: readonly ToldOverride[]): Override[] {
  const made: Override[] = []
  for (const { field, value, code, by, until } of told) {
    const one = { by, until: until === null ? null : new Date(until) }
    const [pattern, whole] = parts.find(([pattern]) => pattern.test(field)) ?? []
    if (pattern === undefined || whole === undefined) {
      made.push({ field: nameOf(field), value, code, ...one })
      continue
    }
    const part = nameOf((pattern.exec(field) as RegExpExecArray)[1] as string)
    const begun = made.find((other) => other.field === whole && other.until?.getTime() === one.until?.getTime())
    const joined = { field: whole, value: put(begun?.value, part, value), code: put(begun?.code, part, code), ...one }
    if (begun) Object.assign(begun, joined)
    else made.push(joined)
  }
  return made
}

/** Null where none of its parts is there. */
function put(whole: unknown, part: string, value: unknown): unknown {
  return value === null || value === undefined ? (whole ?? null) : { ...(whole as object | null), [part]: value }
}

function nameOf(field: string): string {
  return names[field] ?? field.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
