import { Cron, CronPattern } from 'croner'
import type { Timing } from './spec.js'

/** croner also takes dates, which it tells by a colon, and a year; a schedule ends by its `end`. */
const mode = '5-or-6-parts'
const allowed = /^(@[a-z]+|[\d\sA-Za-z*,/#?+-]+)$/
const longest = 200
const daysOfMonth = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** What is wrong with a cron expression, said of it; undefined: nothing. */
export function cronProblem(expression: string): string | undefined {
  if (expression.length > longest) return `has ${expression.length} characters; at most ${longest} are read`
  if (!allowed.test(expression))
    return 'is no cron expression; write five fields, such as "30 2 * * *", or six with seconds first'
  try {
    if (!canEverMatch(new CronPattern(expression, 'UTC', { mode }))) return 'matches no day of any year'
    if (cronOf(expression, 'UTC').nextRun(new Date(0)) === null) return 'matches no day of any year'
    return undefined
  } catch (error) {
    return `is no cron expression: ${(error as Error).message.replace(/^CronPattern: /, '')}`
  }
}

/** croner looks for the 30th of February until the year 10000, which takes it over a second. */
function canEverMatch({
  day,
  month,
  starDOM,
  starDOW,
  useAndLogic,
  lastDayOfMonth,
  lastWeekday,
  nearestWeekdays,
}: CronPattern): boolean {
  const byDate = !starDOM && (starDOW || useAndLogic)
  if (!byDate || lastDayOfMonth || lastWeekday || nearestWeekdays.some(Boolean)) return true
  return daysOfMonth.some((days, at) => month[at] && day.slice(0, days).some(Boolean))
}

export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]+([/_+-][A-Za-z0-9]+)*$/.test(name)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

/** The first time after `after` that the expression matches. */
export function nextMatch({ cron, timeZone }: Pick<Timing, 'timeZone'> & { cron: string }, after: number): number | undefined {
  return cronOf(cron, timeZone).nextRun(new Date(after))?.getTime()
}

/** The last time before `before` that the expression matches. Matches are whole seconds, and croner looks before the second it is given. */
export function previousMatch(
  { cron, timeZone }: Pick<Timing, 'timeZone'> & { cron: string },
  before: number,
): number | undefined {
  return cronOf(cron, timeZone)
    .previousRuns(1, new Date(Math.ceil(before / 1_000) * 1_000))[0]
    ?.getTime()
}

const parsed = new Map<string, Cron>()
const mostParsed = 1_000

/** Parsing costs more than most answers, and a scheduler asks for the same ones again and again. */
function cronOf(expression: string, timezone: string): Cron {
  const key = `${timezone} ${expression}`
  const known = parsed.get(key)
  if (known) return known
  const made = new Cron(expression, { timezone, mode })
  if (parsed.size >= mostParsed) parsed.clear()
  parsed.set(key, made)
  return made
}
