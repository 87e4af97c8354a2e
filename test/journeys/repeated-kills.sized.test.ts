import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { violations } from '../support/invariants.js'
import { type Program, runProgram } from '../support/processes.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { sized } from '../support/sized.js'

/** Workers and a producer, all processes of their own. Time and again `disturb` is called, in the middle of work. */
async function underLoad(times: number, disturb: (fleet: Fleet, turn: number) => Promise<void>): Promise<Queue> {
  const queue = await makeQueue()
  const { ledger } = queue
  const types = [{ type: 'work', backoff: { base: '200ms', cap: '200ms', jitter: '200ms' } }]
  const spawn = () => queue.worker({ concurrency: 10 }, { types })
  const workers = await Promise.all(Array.from({ length: fleet }, spawn))
  const settings = { database: queue.url, ledger: ledger.path, until: ledger.beside('enough'), pauseMs: 100 }
  const producer = runProgram('producer-program', settings)
  for (let turn = 0; turn < times; turn++) {
    // Some thirty jobs come and go between two disturbances.
    const before = ledger.bytes()
    await eventually(() => ledger.bytes() > before + 10_000, { within: 60_000 })
    await disturb({ queue, workers, spawn }, turn)
  }
  ledger.open('enough')
  expect(await producer.exited).toEqual({ code: 0, signal: null })
  await eventually(
    async () => (await queue.sql("select from holdfast.jobs where status not in ('completed', 'dead') limit 1")).length === 0,
    { within: 90_000, every: 250 },
  )
  return queue
}

interface Fleet {
  queue: Queue
  workers: Program[]
  spawn(): Promise<Program>
}

async function outcomes(queue: Queue): Promise<Record<string, number>> {
  const rows = await queue.sql('select outcome::text, count(*)::int from holdfast.history group by outcome')
  return Object.fromEntries(rows.map(({ outcome, count }) => [outcome, count]))
}

const fleet = sized({ sample: 2, whole: 4 })
const kills = sized({ sample: 3, whole: 20 })
const freezes = sized({ sample: 2, whole: 4 })

test(`kill -9 of workers under load ${kills} times: every acknowledged job ends in exactly one final state`, async () => {
  const queue = await underLoad(kills, async ({ queue, workers, spawn }, turn) => {
    const place = turn % workers.length
    const victim = workers[place] as Program
    await victim.kill()
    queue.ledger.note({ kind: 'killed', pid: victim.pid })
    workers[place] = await spawn()
  })
  expect(await violations(queue)).toEqual([])
  expect(count(queue, 'killed')).toBe(kills)
  expect(count(queue, 'acknowledged')).toBeGreaterThan(kills * 25)
  expect(count(queue, 'rolled_back')).toBeGreaterThan(0)
  // The kills did hit running jobs, and there were retries and dead letters as well.
  const { lease_expired, failed } = await outcomes(queue)
  expect(lease_expired).toBeGreaterThan(kills)
  expect(failed).toBeGreaterThan(0)
}, 240_000)

test('workers frozen under load until others have their jobs, then thawed: every job ends in exactly one final state', async () => {
  const queue = await underLoad(freezes, async ({ queue, workers }, turn) => {
    const victim = workers[turn % workers.length] as Program
    const held = `select from holdfast.queue as q join holdfast.leases as l on l.id = q.lease_id
                  join holdfast.workers as w on w.id = l.worker_id where w.pid = $1`
    await eventually(async () => {
      victim.freeze()
      if ((await queue.sql(held, [victim.pid])).length > 0) return true
      victim.thaw()
      return false
    })
    await eventually(async () => (await queue.sql(held, [victim.pid])).length === 0, { within: 60_000 })
    victim.thaw()
  })
  expect(await violations(queue)).toEqual([])
  expect((await outcomes(queue)).lease_expired).toBeGreaterThanOrEqual(freezes)
}, 240_000)

function count(queue: Queue, kind: string): number {
  return queue.ledger.entries().filter((entry) => entry.kind === kind).length
}
