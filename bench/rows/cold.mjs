// How long a program takes that has just been started: until its first job is stored, and until it runs its first one.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { median } from '../figures.mjs'
import { releaseBuild } from '../footprint.mjs'
import { benchNode } from '../install.mjs'
import { forgetProcess, guardProcess } from '../processes.mjs'
import { openStage, within } from '../stage.mjs'

const program = fileURLToPath(new URL('../cold-program.mjs', import.meta.url))
const systems = ['holdfast', 'graphile-worker', 'pg-boss', 'bullmq-redis', 'floor']

/** A place for each, with jobs for its workers; all are there throughout and take turns. */
async function open(bench, size) {
  const stages = {}
  const release = await releaseBuild()
  const close = () => Promise.all([release.remove(), ...Object.values(stages).map((stage) => stage.close())])
  try {
    for (const system of systems) {
      try {
        stages[system] = await openStage(bench, system)
        const producer = await stages[system].start()
        await producer.call('openProducer')
        await producer.call('fill', { jobs: 100 + size.starts * size.rounds * 10, each: 100 })
        await producer.close()
      } catch (error) {
        if (system === 'holdfast') throw error
        console.error(`${system}: ${error.message}`)
      }
    }
  } catch (error) {
    await close()
    throw error
  }
  return { stages, close, package: release.url }
}

const now = () => Number(process.hrtime.bigint()) / 1e6

/** Milliseconds from the start of the process to what it says; then it is killed, as it has nothing to lose. */
async function startOnce(system, role, url, own, limitMs) {
  const begun = now()
  const child = fork(program, [JSON.stringify({ system, role, url, package: own })], {
    execPath: benchNode(),
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  guardProcess(child.pid)
  const gone = once(child, 'exit')
  try {
    const failed = gone.then(([code]) => Promise.reject(new Error(`the ${role} of ${system} ended with ${code}`)))
    const [{ at }] = await within(limitMs, Promise.race([once(child, 'message'), failed]))
    return at - begun
  } finally {
    child.kill('SIGKILL')
    await gone
    forgetProcess(child.pid)
  }
}

const starting = (system) => [
  system,
  async (_bench, { starts }, { stages, package: own }) => {
    if (!stages[system]) throw new Error('could not be prepared')
    const figures = {}
    for (const role of ['producer', 'worker']) {
      const times = []
      for (let i = 0; i < starts; i++) times.push(await startOnce(system, role, stages[system].url, own, 30_000))
      figures[role] = median(times)
    }
    return figures
  },
]

const peers = ['graphile-worker', 'pg-boss', 'bullmq-redis']
const rowOf = (role, title) => ({
  name: `cold-${role}`,
  title: () => title,
  unit: 'ms',
  figure: role,
  better: 'lower',
  peers,
  floors: { 'bare driver': 'floor' },
  bars: peers.map((peer) => ({ against: peer, atMost: 1, text: `≤ ${peer}'s` })),
})

export default {
  name: 'cold',
  sizes: {
    quick: { starts: 1, rounds: 1 },
    short: { starts: 3, rounds: 3 },
    full: { starts: 10, rounds: 5 },
  },
  open,
  contestants: Object.fromEntries(systems.map(starting)),
  rows: [
    rowOf('producer', 'cold start of a producer: from the start of Node to the first enqueue acknowledged'),
    rowOf('worker', 'cold start of a worker: from the start of Node to the start of a job that waits'),
  ],
}
