import { rmSync } from 'node:fs'
import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import type { Program } from '../support/processes.js'
import { makeQueue, work } from '../support/queue.js'
import { sized } from '../support/sized.js'

const { members, kills } = sized({ sample: { members: 400, kills: 4 }, whole: { members: 10_000, kills: 30 } })
const done = defineType({ type: 'done' })
const types = ['work', 'done'].map((type) => ({
  type,
  maxAttempts: 20,
  backoff: { base: '100ms', cap: '200ms', jitter: '100ms' },
}))

test(`a batch of ${members} members and ${kills} kills ends with exactly one callback of each kind that is due, in each round`, async () => {
  const queue = await makeQueue()
  const { holdfast, ledger } = queue
  const spawn = () => queue.worker({ concurrency: 10, lease: '2s' }, { types })
  const workers = await Promise.all([spawn(), spawn()])
  const broken = ledger.beside('broken')
  ledger.open('broken')
  const jobs = [...Array(members).keys()].map((n) =>
    n % 50 === 0 ? work.job({ failWhile: broken }, { maxAttempts: 1 }) : work.job({ ms: 5 }, { maxAttempts: 20 }),
  )
  await holdfast.registerTypes([work, done])
  const { id } = await holdfast.batch({
    jobs,
    ...{
      onSuccess: done.job({ of: 'success' }),
      onFailure: done.job({ of: 'failure' }),
      onComplete: done.job({ of: 'complete' }),
    },
  })
  const seen = async () => (await holdfast.batches.get(id)) as NonNullable<Awaited<ReturnType<typeof holdfast.batches.get>>>
  for (let turn = 0; turn < kills; turn++) {
    const left = members - ((turn + 1) * members) / (kills + 1)
    await eventually(async () => (await seen()).live <= left, { within: 120_000 })
    const place = turn % workers.length
    await (workers[place] as Program).kill()
    workers[place] = await spawn()
  }
  await eventually(async () => (await seen()).status === 'failed', { within: 120_000 })
  const first = await seen()
  expect(first).toMatchObject({ round: 1, live: 0, total: members, cancelled: 0, discarded: 0 })
  expect(first.completed + first.dead).toBe(members)
  // A member of one attempt that runs where its worker is killed is dead, too; all are retried, and the kills go on.
  rmSync(broken)
  expect(await holdfast.batches.retry(id, { by: 'ada' })).toEqual({ matched: first.dead, done: first.dead, refused: {} })
  await (workers[0] as Program).kill()
  for (;;) {
    await eventually(async () => (await seen()).status !== 'running', { within: 120_000 })
    if ((await seen()).status === 'succeeded') break
    await holdfast.batches.retry(id, { by: 'ada' })
  }
  const { round, callbacks, completed } = await seen()
  expect(completed).toBe(members)
  const due = [...Array(round).keys()].flatMap((n) => [`${n + 1} complete`, `${n + 1} ${n + 1 < round ? 'failure' : 'success'}`])
  expect(callbacks.map((callback) => `${callback.round} ${callback.kind}`)).toEqual(due)
  await eventually(
    async () => (await queue.sql("select from holdfast.jobs where type = 'done' and status = 'completed'")).length === due.length,
  )
  expect(await queue.sql("select from holdfast.jobs where type = 'done'")).toHaveLength(due.length)
  expect(await queue.sql('select from holdfast.open_groups union all select from holdfast.group_changes')).toEqual([])
}, 300_000)
