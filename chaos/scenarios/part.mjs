// The named scenarios, each with its ratio to the undisturbed time of the same run.
import { setTimeout as pause } from 'node:timers/promises'
import { within } from '../at-once.mjs'
import { Field } from '../campaign/field.mjs'
import { timeFor } from '../options.mjs'
import { durable, startServer } from '../server.mjs'
import { startLoad } from './load.mjs'
import { scenarios } from './scenarios.mjs'

/** What a correct queue keeps of its throughput. */
const least = 0.98
/** Well below what two cores can do, so that the load and not the machine sets the pace. */
const perSecond = 1_500
const lengths = {
  short: { calmMs: 3_000, measureMs: 4_000, settleMs: 20_000 },
  long: { calmMs: 60_000, measureMs: 900_000, settleMs: 60_000 },
}

export const scenariosPart = {
  name: 'scenarios',
  list: async ({ only }) => names(only),
  async run(options, report) {
    const { only } = options
    const spans = spansOf(options)
    for (const name of names(only)) {
      const key = name.split('/')[1]
      const first = await once(name, key, spans, report)
      // A lost job is a verdict. A ratio below may also be what others did to the machine meanwhile: it is measured once more, for
      // longer.
      const longer = { ...spans, measureMs: Math.min(3 * spans.measureMs, lengths.long.measureMs) }
      const again = first && first.lost === 0 && first.ratio < least ? await once(name, key, longer, report) : undefined
      const measured = again ?? first
      if (!measured) continue
      report.scenarios[key] = { ...measured, ...(again ? { firstRatio: first.ratio } : {}) }
      if (measured.ratio < least)
        report.fail(name, [
          `${percent(measured)} of the undisturbed throughput${again ? `, and ${percent(first)} at the first try` : ''}; ${least * 100} % are promised`,
        ])
    }
  },
}

/** Of a long run that has to end sooner, each scenario is measured for its share of what is left beside starting and stopping. */
function spansOf(options) {
  if (!options.long) return lengths.short
  const eachMs = timeFor('scenarios', options) / Object.keys(scenarios).length
  if (!Number.isFinite(eachMs)) return lengths.long
  return { ...lengths.short, measureMs: Math.max(lengths.short.measureMs, eachMs - 10_000) }
}

const percent = ({ ratio }) => `${Math.round(ratio * 1000) / 10} %`

async function once(name, key, spans, report) {
  const measured = await within(3_600_000, name, measure(key, spans)).catch((error) => {
    report.fail(name, [`it broke: ${error.stack}`])
  })
  if (!measured) return undefined
  console.log(`${name}: ${measured.before} jobs/s before, ${measured.during} after: ${percent(measured)}`)
  if (measured.lost > 0) report.fail(name, [`I1: ${measured.lost} acknowledged jobs are not completed`])
  return measured
}

const names = (only) =>
  Object.keys(scenarios)
    .map((name) => `scenarios/${name}`)
    .filter((name) => name.startsWith(only))

async function measure(key, { calmMs, measureMs, settleMs }) {
  const { disturb, press } = scenarios[key]
  const server = await startServer({ settings: { ...durable, max_connections: '60' } })
  const field = await Field.open(server)
  field.startSteady = () =>
    field.fleet.start('steady-worker', {
      url: server.url,
      options: { lease: '2s', concurrency: 20 },
      holdfast: { statementTimeout: '3s' },
    })
  try {
    await field.startSteady()
    field.load = startLoad(server.url, perSecond)
    await pause(1_500)
    // A start on a busy machine leaves something to catch up, which would pass for throughput.
    await caughtUp(field, settleMs)
    const before = Math.min(perSecond, (await rate(field, calmMs)).done)
    let during
    if (disturb) {
      await disturb(field)
      // What was owed through the disturbance is caught up first; then the pace must be what it was.
      await caughtUp(field, settleMs)
      during = await rate(field, measureMs)
    } else {
      const release = await press(field)
      await pause(1_000)
      during = await rate(field, measureMs)
      await release()
    }
    await field.load.stop()
    const completed = await drained(field)
    // More was asked for under pressure, by as much as the load says; how long its bursts are is not exact on a busy machine.
    const asked = disturb ? before : (before * during.offered) / perSecond
    const ratio = Math.min(1, during.done / asked)
    return {
      before: Math.round(before),
      during: Math.round(during.done),
      ratio,
      acknowledged: field.load.stats.acknowledged,
      lost: Math.max(0, field.load.stats.acknowledged - completed),
    }
  } finally {
    await field.load?.stop()
    await field.close()
    await server.stop()
  }
}

const count = async (field) =>
  (await field.admin(`select count(*)::int as jobs from holdfast.history where outcome = 'completed'`))[0].jobs

/** Per second of that time: how many jobs were done, and how many were to be enqueued. */
async function rate(field, ms) {
  const { stats } = field.load
  await field.edge?.()
  const [jobs, at, offered] = [await count(field), performance.now(), stats.offered]
  await pause(ms)
  await field.edge?.()
  const done = (await count(field)) - jobs
  const seconds = (performance.now() - at) / 1000
  return { done: done / seconds, offered: (stats.offered - offered) / seconds }
}

const queued = async (field) => (await field.admin('select count(*)::int as jobs from holdfast.queue'))[0].jobs

async function caughtUp(field, withinMs) {
  for (let left = withinMs; left > 0; left -= 100) {
    if (field.load.owed < perSecond / 4 && (await queued(field)) < perSecond / 4) return
    await pause(100)
  }
}

async function drained(field) {
  for (let tries = 0; tries < 600 && (await queued(field)) > 0; tries++) await pause(100)
  return count(field)
}
