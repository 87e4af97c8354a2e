import { defineType, type Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue, openQueue } from '../support/queue.js'
import { openTcpProxy } from '../support/severed-proxy.js'
import { startHere } from '../support/worker-here.js'

/** How many claims of a worker were under way at once, at most. It claims over a store of its own, made from the one of its Holdfast. */
function watchClaims(holdfast: Holdfast): { most: number; now: number } {
  const { store } = insideOf(holdfast)
  const over = store.over.bind(store)
  const seen = { most: 0, now: 0 }
  store.over = (lent) => {
    const own = over(lent)
    const claim = own.claim.bind(own)
    own.claim = async (ask) => {
      seen.now += 1
      seen.most = Math.max(seen.most, seen.now)
      try {
        return await claim(ask)
      } finally {
        seen.now -= 1
      }
    }
    return own
  }
  return seen
}

test('with thousands of short jobs a second claim is under way behind the first, and each job runs once', async () => {
  const queue = await makeQueue()
  const ran: string[] = []
  const type = defineType({ type: 'short', run: (_payload, { job }) => void ran.push(job.id) })
  const jobs = await enqueue(queue.holdfast, type, 10_000)
  const seen = watchClaims(queue.holdfast)
  await startHere(queue, [type], { concurrency: 24 })
  await eventually(() => ran.length === jobs)
  expect(new Set(ran).size).toBe(jobs)
  expect(seen.most).toBe(2)
})

test('a worker that runs one at a time runs thousands of jobs in the order in which they came', async () => {
  const queue = await makeQueue()
  const ran: number[] = []
  const type = defineType({ type: 'in_turn', run: (n) => void ran.push(n as number) })
  const jobs = await enqueue(queue.holdfast, type, 5_000)
  const seen = watchClaims(queue.holdfast)
  await startHere(queue, [type], { concurrency: 1 })
  await eventually(() => ran.length === jobs)
  expect(ran).toEqual(Array.from({ length: jobs }, (_, n) => n))
  expect(seen.most).toBe(1)
})

test('of two claims under way, one whose answer is lost costs no job and no attempt, and what the other one holds is run', async () => {
  const direct = await makeQueue()
  const proxy = await openTcpProxy(direct.url)
  const queue = openQueue(proxy.url)
  const ran: string[] = []
  let lost: Promise<void> | undefined
  const type = defineType({
    type: 'short',
    run(_payload, { job }) {
      ran.push(job.id)
      if (seen.most === 2) lost ??= proxy.loseAnswerTo('claimJobs')
    },
  })
  const jobs = await enqueue(direct.holdfast, type, 20_000)
  const seen = watchClaims(queue.holdfast)
  const worker = await startHere(queue, [type], { concurrency: 24 })
  await eventually(() => lost !== undefined)
  await lost
  await eventually(() => ran.length >= jobs && worker.health().unwritten === 0)
  expect(ran).toHaveLength(jobs)
  expect(new Set(ran).size).toBe(jobs)
  expect(
    await direct.sql('select outcome::text, attempt, count(*)::integer as jobs from holdfast.history group by 1, 2'),
  ).toEqual([{ outcome: 'completed', attempt: 1, jobs }])
}, 60_000)

async function enqueue(holdfast: Holdfast, type: ReturnType<typeof defineType>, jobs: number): Promise<number> {
  for (let at = 0; at < jobs; at += 1_000) {
    await holdfast.enqueueMany(Array.from({ length: Math.min(1_000, jobs - at) }, (_, n) => type.job(at + n)))
  }
  return jobs
}
