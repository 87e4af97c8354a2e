// node bench/way-to-start.mjs [jobs]: where the time between enqueue and start goes, and what was under way while the slowest waited.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { percentile } from './figures.mjs'
import { installPeers } from './install.mjs'
import { dismissGuard } from './processes.mjs'
import { startServer } from './server.mjs'
import { onStage } from './stage.mjs'

const count = Number(process.argv[2] ?? 400)
/** The first ones do everything for the first time. */
const warmUp = 20
const idleAfterMs = 3_000

installPeers()
const directory = mkdtempSync(join(tmpdir(), 'holdfast-way-'))
process.env.HOLDFAST_MARKS = directory
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
const server = await startServer()
try {
  await onStage({ server, limitMs: 300_000 }, 'holdfast', async (stage) => {
    const marking = { execArgv: ['--import', new URL('./marking.mjs', import.meta.url).href] }
    const [worker, producer] = [await stage.start(marking), await stage.start(marking)]
    await worker.call('work', { goal: 'latency' })
    await producer.call('openProducer', { goal: 'latency' })
    await producer.call('trickle', { count: warmUp })
    await pause(idleAfterMs)
    await producer.call('trickle', { count })
    await producer.close()
    await worker.close()
  })
} finally {
  await server.stop()
  await dismissGuard()
}
print(waysOf(readdirSync(directory).map((file) => JSON.parse(readFileSync(join(directory, file), 'utf8')))))

/** The stages of each job, in milliseconds, and the other statements that were under way meanwhile. */
function waysOf(processes) {
  const all = processes.flat()
  const after = (what, at) => all.find((mark) => mark.what === what && mark.at >= at)
  const enqueues = all.filter(({ what }) => what === 'enqueueJob').slice(warmUp)
  return enqueues.flatMap((enqueue) => {
    const called = after('called', enqueue.at)
    const claim = all.find(({ what, until, rows }) => what === 'claimJobs' && rows > 0 && until > enqueue.at)
    const started = claim && after('started', claim.at)
    // A job that was found before its own call was answered has no way of its own.
    if (!called || !started || claim.at < called.at) return []
    const beside = all
      .filter((mark) => mark.until > enqueue.at && mark.at < started.at && mark !== enqueue && mark !== claim)
      .map(({ what }) => what)
    return {
      'enqueue to call': called.at - enqueue.at,
      'call to claim': claim.at - called.at,
      claim: claim.until - claim.at,
      'claim to start': started.at - claim.until,
      all: started.at - enqueue.at,
      beside,
    }
  })
}

function print(ways) {
  const { beside, ...stages } = ways[0]
  const shown = (ms) => ms.toFixed(2).padStart(9)
  console.log(`${ways.length} jobs, ms                p50      p90      p99`)
  for (const stage of Object.keys(stages)) {
    const times = ways.map((way) => way[stage])
    console.log(stage.padEnd(18) + [0.5, 0.9, 0.99].map((share) => shown(percentile(times, share))).join(''))
  }
  const alone = ways.filter((way) => way.beside.length === 0).map(({ all }) => all)
  console.log(`${'all, nothing beside'.padEnd(18)}${[0.5, 0.9, 0.99].map((share) => shown(percentile(alone, share))).join('')}`)
  console.log('\nthe slowest, by stage, and what was under way beside them')
  for (const way of [...ways].sort((a, b) => b.all - a.all).slice(0, 10)) {
    const { beside, ...times } = way
    console.log(`${Object.values(times).map(shown).join('')}   ${beside.join(', ')}`)
  }
}
