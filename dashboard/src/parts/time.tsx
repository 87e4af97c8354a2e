import { useSyncExternalStore } from 'react'

/** One clock for the page, so that all relative times change together, once a second and only while somebody looks. */
const listeners = new Set<() => void>()
let timer: ReturnType<typeof setInterval> | undefined
let now = Date.now()

function subscribe(changed: () => void): () => void {
  listeners.add(changed)
  timer ??= setInterval(() => {
    if (document.hidden) return
    now = Date.now()
    for (const listener of listeners) listener()
  }, 1_000)
  return () => {
    listeners.delete(changed)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

export const useNow = () => useSyncExternalStore(subscribe, () => now)

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** A length of time in its two largest units: 3 h 12 min. Never negative: two machines' clocks may differ. */
export function inWords(milliseconds: number): string {
  const ms = Math.max(0, milliseconds)
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 10_000) return `${(ms / 1_000).toFixed(1)} s`
  const first = units.findIndex(([, length]) => ms >= length)
  const [name, length] = units[first] ?? ['s', 1_000]
  const [nextName, nextLength] = units[first + 1] ?? ['', 0]
  const rest = nextLength === 0 ? 0 : Math.floor((ms % length) / nextLength)
  return `${Math.floor(ms / length)} ${name}${rest > 0 ? ` ${rest} ${nextName}` : ''}`
}

const exact = new Intl.DateTimeFormat(undefined, {
  ...{ year: 'numeric', month: 'short', day: 'numeric' },
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'short' },
  hourCycle: 'h23',
})

/** A moment, said relative to now; the exact time with its zone is in the title, and both in the time element. */
export function Moment({ at }: { at: string | null }) {
  const current = useNow()
  if (at === null) return <span>–</span>
  const date = new Date(at)
  if (Number.isNaN(date.getTime())) return <span>{at}</span>
  const ago = current - date.getTime()
  // The clock of the page goes by whole seconds: what has happened since its last one is no time to come.
  const words = ago >= 0 ? `${inWords(ago)} ago` : ago > -1_000 ? 'now' : `in ${inWords(-ago)}`
  return (
    <time dateTime={at} title={`${exact.format(date)} · ${date.toISOString()}`}>
      {words}
    </time>
  )
}

const shortUnits = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

/** A length of time as the API takes it and a person types it: 5m, 1500ms. */
export function asDuration(milliseconds: number): string {
  const [name, length] = shortUnits.find(([, unit]) => milliseconds >= unit && milliseconds % unit === 0) ?? ['ms', 1]
  return `${milliseconds / length}${name}`
}

/** A text that is no time is shown as it came. */
export const exactTime = (at: string) => (Number.isNaN(Date.parse(at)) ? at : exact.format(new Date(at)))

const day = { weekday: 'short', year: 'numeric', month: 'short', day: 'numeric' } as const
const clock = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23', timeZoneName: 'short' } as const

/** A moment as the clocks of a time zone show it; of a zone that this browser does not know, as our own do. */
export function timeIn(zone: string, at: string): string {
  try {
    return new Intl.DateTimeFormat(undefined, { ...day, ...clock, timeZone: zone }).format(new Date(at))
  } catch {
    return exactTime(at)
  }
}
