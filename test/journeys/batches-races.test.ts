import { defineType, FatalError, HoldfastError } from 'holdfast'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const who = { by: 'ada' }

/** What the state at that moment does not allow is no failure of anybody. */
const unlessRefused = (error: unknown) => {
  if (!(error instanceof HoldfastError) || !['conflict', 'not_found'].includes(error.code)) throw error
}

test('whatever is done to members at once, the counts are those of the members and every round has its callbacks once', async () => {
  const queue = await makeQueue()
  const { holdfast } = queue
  let failing = true
  const part = defineType({
    type: 'part',
    maxAttempts: 1,
    limits: { breaker: false },
    run: async () => {
      if (failing && Math.random() < 0.4) throw new FatalError('broken')
    },
  })
  const done = defineType({ type: 'done', run: async () => {} })
  const some = (count: number) => Array.from({ length: count }, () => part.job({}))
  const { id } = await holdfast.batch({
    jobs: some(40),
    ...{ onSuccess: done.job({}), onFailure: done.job({}), onComplete: done.job({}) },
  })
  const oneOf = async (status: string): Promise<string | undefined> =>
    (
      await queue.sql(
        `select m.job_id from holdfast.members as m where holdfast.status_of(m.job_id) = $1 order by random() limit 1`,
        [status],
      )
    )[0]?.job_id
  const tx = await queue.connect()
  const actors: (() => Promise<unknown>)[] = [
    () => holdfast.batches.add(id, some(3)).catch(unlessRefused),
    () => holdfast.batches.retry(id, who),
    async () => {
      const job = await oneOf('dead')
      if (job) await holdfast.deadLetters.replay(job, who).catch(unlessRefused)
    },
    async () => {
      const job = await oneOf('dead')
      if (job) await holdfast.deadLetters.discard(job, who).catch(unlessRefused)
    },
    async () => {
      const job = (await oneOf('pending')) ?? (await oneOf('processing'))
      if (job) await holdfast.cancel(job, who).catch(unlessRefused)
    },
    async () => {
      await tx.query('begin')
      await holdfast.batches.add(id, some(2), { tx }).catch(unlessRefused)
      await tx.query(Math.random() < 0.5 ? 'commit' : 'rollback')
    },
    async () => {
      const { total, live, completed, dead, cancelled, discarded } = (await holdfast.batches.get(id)) as never
      expect(Math.min(live, completed, dead, cancelled, discarded)).toBeGreaterThanOrEqual(0)
      expect(live + completed + dead + cancelled + discarded).toBe(total)
    },
    async () => void (await queue.sql("select * from holdfast.tick(100, '-infinity')")),
  ]
  await startHere(queue, [part, done], { concurrency: 4 })
  await startHere(queue, [part, done], { concurrency: 4 })
  await Promise.all(
    actors.map(async (act) => {
      for (let turn = 0; turn < 15; turn++) await act()
    }),
  )
  const ended = () =>
    eventually(async () => {
      const batch = await holdfast.batches.get(id)
      return batch?.status !== 'running' && (await queue.sql('select from holdfast.group_changes')).length === 0 && batch
    })
  const { dead: failed } = await ended()
  failing = false
  await holdfast.batches.retry(id, who)
  await ended()
  const { round, callbacks, ...batch } = (await holdfast.batches.get(id)) as NonNullable<
    Awaited<ReturnType<typeof holdfast.batches.get>>
  >
  const statuses = 'select holdfast.status_of(job_id) as status, count(*)::integer as count from holdfast.members group by 1'
  const counted = Object.fromEntries((await queue.sql(statuses)).map(({ status, count }) => [status, count]))
  const { completed = 0, dead = 0, cancelled = 0, discarded = 0, ...others } = counted
  expect(others).toEqual({})
  expect(batch).toMatchObject({ live: 0, completed, dead, cancelled, discarded, total: completed + dead + cancelled + discarded })
  // A retry of what has ended opens a round; while it runs, none: on a quick machine it may run all the time until then.
  if (failed > 0) expect(round).toBeGreaterThan(1)
  const kinds = (nth: number) => callbacks.filter((callback) => callback.round === nth).map(({ kind }) => kind)
  for (let nth = 1; nth <= round; nth++)
    expect([
      ['complete', 'failure'],
      ['complete', 'success'],
    ]).toContainEqual(kinds(nth))
  expect(callbacks).toHaveLength(2 * round)
  expect(await queue.sql("select from holdfast.jobs where type = 'done'")).toHaveLength(2 * round)
}, 90_000)
