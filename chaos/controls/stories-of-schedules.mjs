// Stories of schedules, whose clock is set ahead and back, and whose schedulers come too late.
import { insideOf } from '../../dist/inside.js'
import { Scheduler } from '../../dist/schedule/scheduler.js'
import { createSchedules, pauseSchedules, promisesOf, setClock } from '../load/schedules.mjs'
import { patient } from './stories.mjs'

const names = ['each-second']
const jobs = async (stage) => (await stage.sql('select from holdfast.bodies')).length

/** Waits until so many more ticks have a job than had one. */
async function more(stage, ticks) {
  const before = await jobs(stage)
  if (!(await stage.until(async () => (await jobs(stage)) >= before + ticks, 60_000)))
    throw new Error(`the schedule made no ${ticks} jobs more`)
}

async function begin(stage) {
  Object.assign(stage.promises, promisesOf(names))
  const holdfast = stage.producer()
  await holdfast.registerTypes([stage.work])
  await createSchedules(holdfast, stage.note, names)
  return holdfast
}

/** A scheduler decides, and is held up until another one has fired the same ticks; then it fires what it had decided. */
export async function lateScheduler(stage) {
  const holdfast = await begin(stage)
  const { store, privacy } = insideOf(stage.producer())
  const decisions = []
  const late = {
    due: (...look) => store.schedules.due(...look),
    fire: async (...decision) => void decisions.push(decision),
    putOff: async () => {},
  }
  const scheduler = new Scheduler(late, privacy, 0, {}, {})
  const decided = async () => {
    await scheduler.look()
    return decisions.some(([, ticks]) => ticks.length > 0)
  }
  if (!(await stage.until(decided))) throw new Error('no tick came')
  await stage.worker(stage.url, patient)
  await more(stage, 1)
  for (const decision of decisions) await store.schedules.fire(...decision)
  await pauseSchedules(holdfast, names)
}

/** The clock is set ahead by more than a minute, and then back by half of one, whose ticks come again. */
export async function clockAheadAndBack(stage) {
  const holdfast = await begin(stage)
  await stage.worker(stage.url, patient)
  await more(stage, 1)
  await stage.sql(setClock(80_000))
  await more(stage, 20)
  await stage.sql(setClock(50_000))
  const cameAgain = `select from holdfast.schedules where last_tick < (select max(tick) from holdfast.ticks)`
  if (!(await stage.until(async () => (await stage.sql(cameAgain)).length > 0, 60_000))) throw new Error('no tick came again')
  await pauseSchedules(holdfast, names)
}

/** Nobody sets the clock of the database: it alone says which ticks have come. */
export async function clockOfTheHost(stage) {
  const holdfast = await begin(stage)
  stage.promises.clockIsSet = false
  await stage.worker(stage.url, patient)
  await more(stage, 2)
  await pauseSchedules(holdfast, names)
}
