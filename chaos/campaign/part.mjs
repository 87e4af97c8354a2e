// Random campaigns: real processes under load while faults fall by a seeded plan; then everything is healed and checked.

import { within } from '../at-once.mjs'
import { timeFor } from '../options.mjs'
import { seeded, shuffled } from '../seeded.mjs'
import { durable, startServer } from '../server.mjs'
import { composed } from './composed.mjs'
import { diskFull } from './disk-full.mjs'
import { faults } from './faults.mjs'
import { Field } from './field.mjs'
import { migration } from './migration.mjs'
import { operators } from './operators.mjs'
import { pgbouncer } from './pgbouncer.mjs'
import { promotion, promotionAsynchronous } from './promotion.mjs'

const longestMs = 1_800_000

/** So many campaigns of so many faults each; a short plan holds every kind once. */
const mixed = (number) => ({
  name: `campaigns/mixed/${number}`,
  /** What has been done before, with other chances. */
  again: number > 1,
  async run(seed, report, { long }) {
    const random = seeded(seed + number)
    const names = Object.keys(faults)
    const plan = long
      ? [...shuffled(names, random), ...shuffled(names, random), ...shuffled(names, random)]
      : shuffled(names, random)
    const server = await startServer({ settings: { ...durable, max_connections: '100' } })
    const field = await Field.open(server)
    try {
      await Promise.all([field.startWorker(), field.startWorker(), field.startWorker(), field.startHttpServer()])
      await Promise.all([field.startProducer(seed), field.startProducer(seed + 1), field.startCanceller(seed)])
      await field.startComposer(seed)
      await Promise.all([field.startRemoteWorker(), field.startRemoteWorker()])
      await field.startHttpProducer(seed)
      const facts = []
      for (const name of plan) {
        if (!(await field.progress())) facts.push(`I14: nothing went on before ${name}`)
        await field.strike(name, faults[name], random, report)
      }
      await field.progress()
      return await field.finish(facts)
    } finally {
      await field.close()
      await server.stop()
    }
  },
})

const special = [composed, operators, pgbouncer, promotion, promotionAsynchronous, migration, diskFull]

export const campaigns = {
  name: 'campaigns',
  list: async (options) => chosen(options).map(({ name }) => name),
  async run(options, report) {
    const deadline = performance.now() + timeFor('campaigns', options)
    for (const campaign of chosen(options)) {
      if (campaign.again && performance.now() > deadline) {
        report.skip(`${campaign.name} and those after it`, 'the time of the campaigns was over')
        return
      }
      const cannot = await campaign.cannotRun?.()
      if (cannot) {
        report.skip(campaign.name, cannot)
        continue
      }
      const begun = performance.now()
      const struck = report.struck
      const result = await within(
        longestMs,
        campaign.name,
        campaign.run(options.seed + (campaign.round ?? 0), report, options),
      ).catch((error) => ({
        verdicts: {},
        facts: [`it broke: ${error.stack}`],
      }))
      const { acknowledged = 0, executions = 0 } = result
      console.log(
        `${campaign.name}: ${acknowledged} acknowledged, ${executions} executions, ${Math.round((performance.now() - begun) / 1000)} s`,
      )
      report.campaigns[campaign.name] = report.struck - struck
      report.add(campaign.name, result)
    }
  },
}

/** `mixed`: from which to which of the mixed ones. `rounds`: from which to which of the special ones, each with a seed of its own. */
function chosen({ only, long, mixed: [from, to] = [1, long ? 12 : 1], rounds: [first, last] = [1, 1] }) {
  const inOrder = numbers(from, to).map(mixed)
  const rounds = numbers(first, last).flatMap((round) =>
    special.map((campaign) => (round === 1 ? campaign : { ...campaign, round, name: `${campaign.name}/${round}` })),
  )
  return [...inOrder.slice(0, 1), ...rounds, ...inOrder.slice(1)].filter(({ name }) => name.startsWith(only))
}

const numbers = (from, to) => Array.from({ length: to - from + 1 }, (_, n) => from + n)
