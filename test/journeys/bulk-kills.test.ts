import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'

const mail = defineType({ type: 'mail' })
const jobs = 3_000

test('a bulk action survives that the process that carries it out is killed, again and again, and does nothing twice', async () => {
  const queue = await makeQueue()
  const { holdfast, sql } = queue
  for (let at = 0; at < jobs; at += 1_000) await holdfast.enqueueMany(Array.from({ length: 1_000 }, () => mail.job({})))
  const asked = { action: 'set-priority', priority: 9, pace: 1_000, filter: { type: 'mail' } } as const
  const { id } = await holdfast.bulk(asked, { by: 'ada', why: 'they are late' })
  const look = async () => (await holdfast.bulkActions.get(id)) ?? { done: 0, status: 'gone' }
  for (let kill = 0; kill < 3; kill++) {
    const { done: before } = await look()
    const worker = await queue.worker({ lease: '2s' })
    await eventually(async () => (await look()).done > before)
    await worker.kill()
    const { done, status } = await look()
    expect({ status, under: done < jobs }).toEqual({ status: 'running', under: true })
  }
  await queue.worker({ lease: '2s' })
  await eventually(async () => (await look()).status === 'completed')
  expect(await look()).toMatchObject({ matched: jobs, done: jobs, refused: {} })
  expect(await sql('select count(*)::int as moves, count(distinct job_id)::int as jobs from holdfast.moves')).toEqual([
    { moves: jobs, jobs },
  ])
  const lost = (await holdfast.job(id))?.attempts.filter(({ outcome }) => outcome === 'lease_expired')
  expect(lost).toHaveLength(3)
  expect(await sql('select * from holdfast.find_drift()')).toEqual([])
})
