// People on call at work beside full load, and producers that only enqueue inside their own transactions, under a depth limit that
// they meet again and again.
import { Holdfast } from 'holdfast'
import { seeded, shuffled } from '../seeded.mjs'
import { durable, startServer } from '../server.mjs'
import { faults } from './faults.mjs'
import { Field } from './field.mjs'

/** Few and light: what operators do is what falls on this fleet. */
const beside = ['kill-worker', 'kill-backends']

/** Low enough that a type paused for a moment brings the producers to it. */
const depth = { soft: 40, hard: 120 }

export const operators = {
  name: 'campaigns/operators',
  async run(seed, report, { long }) {
    const random = seeded(seed)
    const server = await startServer({ settings: { ...durable, max_connections: '100' } })
    let field
    try {
      field = await Field.open(server)
      const holdfast = new Holdfast({ connectionString: server.url })
      await holdfast.flow.limitDepth('queue', depth, { by: 'ada' })
      await holdfast.flow.setLane('bulk', { slots: 20 }, { by: 'chaos' }, { create: true })
      await holdfast.close()
      await Promise.all([field.startWorker(), field.startWorker(), field.startWorker()])
      await Promise.all([field.startProducer(seed, 20), field.startCanceller(seed)])
      const producers = [await field.startProducer(seed + 1, 10, 'tx'), await field.startProducer(seed + 2, 10, 'tx')]
      await Promise.all([field.startOperator(seed, { replays: true }), field.startOperator(seed + 1)])
      const facts = []
      const plan = Array.from({ length: long ? 10 : 1 }, () => shuffled(beside, random)).flat()
      for (const name of plan) {
        if (!(await field.progress(100))) facts.push(`I14: nothing went on before ${name}`)
        await field.strike(name, faults[name], random, report)
      }
      await field.progress(100)
      for (const { pid } of producers.filter((one) => field.fleet.of('producer').includes(one)))
        if (!(await field.acknowledgedTo(pid))) facts.push(`I14: producer ${pid}, which only uses tx, is not taken any more`)
      const result = await field.finish(facts)
      const { entries } = result.history
      const done = new Set(entries.filter(({ kind, error }) => kind === 'operated' && !error).map(({ act }) => act))
      console.log(
        `  ${entries.filter(({ kind }) => kind === 'operated').length} acts of ${done.size} kinds, ${entries.filter(({ kind }) => kind === 'refused').length} calls refused`,
      )
      return result
    } finally {
      await field?.close()
      await server.stop()
    }
  },
}
