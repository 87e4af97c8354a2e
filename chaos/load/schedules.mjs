// The schedules of a campaign and of the stories about them. Each makes up for whatever was missed, so that every tick is owed a job.

export const who = { by: 'ada', why: 'the fault bench' }

const definitions = {
  'each-second': { every: '1s' },
  'each-second-late': { every: '1s', jitter: '800ms' },
  'each-two-seconds': { cron: '*/2 * * * * *' },
}
const everyMs = { 'each-second': 1_000, 'each-second-late': 1_000, 'each-two-seconds': 2_000 }

/** What the checker may expect of these schedules. */
export const promisesOf = (names = Object.keys(definitions)) => ({
  clockIsSet: true,
  schedules: Object.fromEntries(names.map((name) => [name, { everyMs: everyMs[name] }])),
})

/** Creates them, and says in the books that their jobs are asked for. */
export async function createSchedules(holdfast, note, names = Object.keys(definitions)) {
  for (const schedule of names) {
    const call = `schedule ${schedule}`
    note({ kind: 'asked', call, count: 1_000_000 })
    const payload = { call, schedule }
    const more = { missed: { all: 1_000 }, maxAttempts: 20 }
    await holdfast.schedules.create({ name: schedule, type: 'work', payload, ...more, ...definitions[schedule] }, who)
  }
}

export async function pauseSchedules(holdfast, names = Object.keys(definitions)) {
  for (const name of names) await holdfast.schedules.pause(name, who)
}

/** Sets the clock of the database so far ahead of the real one; it runs on from there. */
export const setClock = (aheadMs) =>
  `create or replace function holdfast.now() returns timestamptz language sql volatile parallel safe
   as 'select pg_catalog.clock_timestamp() + interval ''${aheadMs} milliseconds'''`
