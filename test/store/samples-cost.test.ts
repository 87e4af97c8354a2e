import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { costOf } from '../support/plans.js'
import { makeQueue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

/** A job writes so many bytes of WAL at least: 400 at its enqueue, as cost-per-job.sized.test.ts says, and 400 from its claim to its history. */
const leastPerJob = 800
/** Ten jobs a second, sampled every ten seconds: with more jobs a look costs no more. */
const jobsPerLook = 100

test('what charts are drawn from adds at most a twentieth to the WAL of a job', async () => {
  const queue = await makeQueue()
  const mail = defineType({ type: 'mail', maxAttempts: 1, limits: { breaker: false }, run: send })
  await startHere(queue, [mail])
  const client = await queue.connect()
  const costs: number[] = []
  for (let round = 0; round < 60 && costs.length < 3; round++) {
    const jobs = Array.from({ length: jobsPerLook }, (_, n) => mail.job({ bad: n % 10 === 0 }, { priority: n % 3 }))
    await queue.holdfast.enqueueMany(jobs)
    await eventually(async () => {
      const [ended] = await queue.sql('select count(*)::int as count from holdfast.history')
      return ended?.count === (round + 1) * jobsPerLook
    })
    const { wal, pageImages } = await costOf(client, `select holdfast.take_samples(null, interval '-1 second', ${round % 2})`)
    // After a checkpoint whole pages go into the WAL; that is its cost and not that of the look.
    if (pageImages === 0) costs.push(wal)
  }
  expect(costs).toHaveLength(3)
  expect(Math.min(...costs)).toBeGreaterThan(0)
  expect(Math.max(...costs) / jobsPerLook).toBeLessThanOrEqual(leastPerJob / 20)
}, 60_000)

function send({ bad }: { bad: boolean }): void {
  if (bad) throw new Error('no such address')
}
