// Schedules, steps, sleeps, signals, workflows and batches on three workers under kills, freezes and wrong clocks of their hosts, while the
// clock of the database is set ahead and back.
import { setTimeout as pause } from 'node:timers/promises'
import { Holdfast } from 'holdfast'
import { createSchedules, pauseSchedules, promisesOf, setClock } from '../load/schedules.mjs'
import { seeded, shuffled } from '../seeded.mjs'
import { durable, startServer } from '../server.mjs'
import { faults } from './faults.mjs'
import { Field } from './field.mjs'

/** More than a minute, so that ticks count as missed and not as late. */
const aheadMs = 80_000
/** So much of it comes again: those ticks have their jobs. */
const backMs = 6_000

/** What is set stays set until the next time; a clock that goes on from there is no fault to be healed. */
const clocks = {
  'database-clock-ahead': (field) => turn(field, aheadMs),
  'database-clock-back': (field) => turn(field, -backMs),
  /** Whoever decided before the clock was set goes on with that afterwards. */
  async 'database-clock-ahead-of-a-frozen-scheduler'(field) {
    const [victim] = field.fleet.of('worker')
    field.note({ kind: 'frozen', pid: victim.pid })
    victim.child.kill('SIGSTOP')
    await turn(field, aheadMs)
    await pause(1_500)
    await turn(field, -backMs)
    victim.child.kill('SIGCONT')
  },
}

async function turn(field, byMs) {
  field.aheadMs = (field.aheadMs ?? 0) + byMs
  await field.admin(setClock(field.aheadMs))
}

const ofAll = ['kill-worker', 'freeze-worker', 'kill-backends', 'clock-jump', 'worker-with-a-wrong-clock']
const struck = { ...clocks, ...Object.fromEntries(ofAll.map((name) => [name, faults[name]])) }

export const composed = {
  name: 'campaigns/composed',
  async run(seed, report, { long }) {
    const random = seeded(seed)
    const server = await startServer({ settings: { ...durable, max_connections: '100' } })
    let field
    try {
      field = await Field.open(server)
      Object.assign(field.promises, promisesOf())
      const holdfast = new Holdfast({ connectionString: server.url })
      await Promise.all([field.startWorker(), field.startWorker(), field.startWorker()])
      await createSchedules(holdfast, field.note)
      await field.startComposer(seed)
      const facts = []
      const plan = Array.from({ length: long ? 10 : 1 }, () => shuffled(Object.keys(struck), random)).flat()
      for (const name of plan) {
        if (!(await field.progress(3))) facts.push(`I14: nothing went on before ${name}`)
        await field.strike(name, struck[name], random, report)
      }
      if (!(await field.progress(3))) facts.push('I14: nothing went on after the last fault')
      await pauseSchedules(holdfast)
      await holdfast.close()
      return await field.finish(facts)
    } finally {
      await field?.close()
      await server.stop()
    }
  },
}
