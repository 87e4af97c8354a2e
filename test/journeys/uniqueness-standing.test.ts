import { defineType, FatalError, type Holdfast, type JobOptions } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue, type Queue } from '../support/queue.js'

/** What an operator or a second producer does to a job that stands for a unique key, beside what it is doing anyway. */
const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const soon = { timeout: 20_000, interval: 100 }
const ada = { by: 'ada' }
const sync = defineType({ type: 'sync' })
let queue: Queue
let holdfast: Holdfast

beforeEach(async () => {
  queue = await makeQueue()
  holdfast = queue.holdfast
  await holdfast.registerTypes([sync])
})

const enqueue = (payload: unknown, options: JobOptions) => holdfast.enqueue(sync, payload, options)
const isNow = (id: string, status: string) => vi.waitFor(async () => expect((await holdfast.job(id))?.status).toBe(status), soon)

/** A worker whose handlers wait until they are let go; a payload that says so dies. */
async function slowWorker(slots = 1) {
  const started: unknown[] = []
  const doors: (() => void)[] = []
  const type = defineType({
    type: 'sync',
    async run(payload) {
      started.push(payload)
      await new Promise<void>((open) => doors.push(open))
      if (payload === 'dies') throw new FatalError('no')
    },
  })
  const worker = await startWorker(holdfast, [type], { logger: quiet, drain: 0, concurrency: slots })
  onTestFinished(() => worker.stop())
  return { started, open: () => doors.shift()?.() }
}

describe('after the replay of the job in front', () => {
  const unique = { key: 'k', onConflict: 'one_more' } as const

  /** One that died, and the one that waited behind it and runs now. */
  async function deadAndRunning() {
    const worker = await slowWorker(2)
    const dead = await enqueue('dies', { unique })
    await isNow(dead.id, 'processing')
    const running = await enqueue('runs', { unique })
    expect(running.status).toBe('queued_behind')
    worker.open()
    await isNow(running.id, 'processing')
    return { worker, dead, running }
  }

  it('one_more answers at once, and the database does not look at the key again and again', async () => {
    const { worker, dead, running } = await deadAndRunning()
    await holdfast.flow.pauseType('sync', ada)
    expect(await holdfast.deadLetters.replay(dead.id, ada)).toMatchObject({ done: true, status: 'blocked' })
    const client = await queue.connect()
    await client.query(`set statement_timeout = '5s'`)
    const { rows } = await client.query(
      `select * from holdfast.enqueue('sync', '"newest"', '{"unique": {"key": "k", "on_conflict": "one_more"}}')`,
    )
    expect(rows).toEqual([{ id: dead.id, status: 'replaced' }])
    expect((await holdfast.job(running.id))?.status).toBe('processing')
    await holdfast.flow.resumeType('sync', { by: 'ada' })
    worker.open()
    await isNow(dead.id, 'processing')
    expect(worker.started).toEqual(['dies', 'runs', 'newest'])
    worker.open()
  })

  it('the two of one key do not run at once: the replayed one waits behind the other', async () => {
    const { worker, dead, running } = await deadAndRunning()
    await holdfast.deadLetters.replay(dead.id, ada, { payload: 'again' })
    expect(await holdfast.explain(dead.id)).toMatchObject({ gates: [{ gate: 'behind', heldBy: [running.id] }] })
    worker.open()
    await isNow(dead.id, 'processing')
    expect((await holdfast.job(running.id))?.status).toBe('completed')
    worker.open()
    await isNow(dead.id, 'completed')
  })

  it('a job that took the key meanwhile is waited for too, and the next enqueue finds the key taken', async () => {
    const worker = await slowWorker(2)
    const first = await enqueue('dies', { unique: { key: 'r' } })
    await isNow(first.id, 'processing')
    worker.open()
    await isNow(first.id, 'dead')
    const second = await enqueue('second', { unique: { key: 'r' } })
    await isNow(second.id, 'processing')
    await holdfast.deadLetters.replay(first.id, ada, { payload: 'again' })
    worker.open()
    await isNow(first.id, 'processing')
    expect((await holdfast.job(second.id))?.status).toBe('completed')
    await expect(enqueue('third', { unique: { key: 'r' } })).rejects.toMatchObject({ code: 'unique_conflict', jobId: first.id })
    worker.open()
    await isNow(first.id, 'completed')
    expect((await enqueue('third', { unique: { key: 'r' } })).status).toBe('created')
  })

  it('two dead ones of a key that are replayed together run one after the other', async () => {
    const worker = await slowWorker(2)
    const ids: string[] = []
    for (let i = 0; i < 2; i++) {
      const { id } = await enqueue('dies', { unique: { key: 'r' } })
      await isNow(id, 'processing')
      worker.open()
      await isNow(id, 'dead')
      ids.push(id)
    }
    await holdfast.deadLetters.replayMany({ type: 'sync' }, ada)
    const standing = await Promise.all(ids.map((id) => holdfast.explain(id)))
    expect(standing.filter((one) => one?.gates.some((gate) => gate.gate === 'behind'))).toHaveLength(1)
  })
})

describe('replace of a job before its gate', () => {
  const replace = { key: 'k', onConflict: 'replace' } as const

  it('waits for a slot of its new concurrency key where that changes, and takes none of the old', async () => {
    await holdfast.flow.limit('sync', { maxRunningPerKey: 1 }, { by: 'ada' })
    const { id } = await enqueue('first', { unique: replace, concurrencyKey: 'a' })
    await enqueue('next of a', { concurrencyKey: 'a' })
    await enqueue('of b', { concurrencyKey: 'b', priority: 9 })
    expect(await enqueue('moved', { unique: replace, concurrencyKey: 'b' })).toEqual({ id, status: 'replaced' })
    const { started, open } = await slowWorker(4)
    await vi.waitFor(() => expect(started.toSorted()).toEqual(['next of a', 'of b']), soon)
    expect(await holdfast.explain(id)).toMatchObject({ status: 'pending' })
    open()
    open()
    await isNow(id, 'processing')
    open()
  })

  it('does not deadlock with a worker that frees the slots of cancelled jobs and promotes what is due', async () => {
    await holdfast.flow.limit('sync', { maxRunning: 5 }, { by: 'ada' })
    const { id } = await enqueue('first', { unique: replace, delay: '1h' })
    // What tick does: it has locked the job whose time has come, and then needs the gate.
    const promoting = await queue.connect()
    await promoting.query('begin')
    await promoting.query('select from holdfast.waiting where job_id = $1 for update', [id])
    const replaced = enqueue('second', { unique: replace, delay: '2h' })
    await vi.waitFor(async () => {
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      expect(await queue.sql(waiting)).toHaveLength(1)
    }, soon)
    await promoting.query(`select from holdfast.gates for update nowait`)
    await promoting.query('commit')
    expect(await replaced).toEqual({ id, status: 'replaced' })
  })
})

describe('replace and approval', () => {
  const replace = { key: 'k', onConflict: 'replace' } as const
  const debounce = { key: 'k', onConflict: 'debounce', delay: '1h' } as const

  it.each(['queue', 'waiting', 'before its gate', 'following'])(
    'a newcomer that asks for approval is not let in unapproved: %s',
    async (place) => {
      if (place === 'before its gate') await holdfast.flow.pauseType('sync', ada)
      const worker = place === 'following' ? await slowWorker(2) : undefined
      const unique = place === 'following' ? ({ key: 'k', onConflict: 'one_more' } as const) : replace
      if (worker) await isNow((await enqueue('runs', { unique })).id, 'processing')
      const { id } = await enqueue('harmless', { unique, ...(place === 'waiting' ? { delay: '1h' } : {}) })
      const table = place === 'before its gate' ? 'queue' : place
      expect(await queue.sql(`select from holdfast.${table} where job_id = $1`, [id])).toHaveLength(1)
      expect(await enqueue('dear', { unique, approval: { quorum: 2 } })).toEqual({ id, status: 'replaced' })
      worker?.open()
      await isNow(id, 'awaiting_approval')
      expect(await holdfast.job(id)).toMatchObject({ payload: 'dear', approval: { quorum: 2, verdicts: [] } })
      expect(await holdfast.approve(id, ada)).toMatchObject({ done: true, status: 'awaiting_approval' })
      expect(await holdfast.approve(id, { by: 'bob' })).toMatchObject({ done: true, status: 'pending' })
    },
  )

  it.each([
    ['scheduled', { delay: '1h' }, replace],
    ['pending', {}, replace],
    ['scheduled', {}, debounce],
  ] as const)('an approval was for the old payload: a job approved and %s waits again', async (status, more, unique) => {
    const { id } = await enqueue('seen', { unique, approval: true, ...more })
    expect(await holdfast.approve(id, ada)).toMatchObject({ done: true, status })
    const { status: answer } = await enqueue('unseen', { unique })
    expect(answer).toBe(unique === debounce ? 'debounced' : 'replaced')
    expect(await holdfast.job(id)).toMatchObject({ status: 'awaiting_approval', payload: 'unseen', approval: { verdicts: [] } })
    expect((await holdfast.job(id))?.changes).toMatchObject([
      { move: unique.onConflict, before: { payload: 'seen', approved_by: ['ada'] } },
    ])
    expect(await holdfast.approve(id, { by: 'bob' })).toMatchObject({ done: true })
  })

  it('a verdict is about the payload that was looked at: one about another is refused, also where that comes while the verdict waits', async () => {
    const { id } = await enqueue('seen', { unique: replace, approval: true, delay: '1h' })
    expect(await holdfast.job(id)).toMatchObject({ payload: 'seen', approval: { revision: 1 } })
    await enqueue('unseen', { unique: replace })
    expect(await holdfast.approve(id, ada, { revision: 1 })).toMatchObject({
      done: false,
      because: 'the verdict is about revision 1 of its payload, and it has revision 2 now; look at it again',
    })
    expect(await holdfast.reject(id, { ...ada, why: 'no' }, { revision: 1 })).toMatchObject({ done: false })
    const producer = await queue.connect()
    await producer.query('begin')
    await holdfast.enqueue(sync, 'later', { unique: replace, tx: producer })
    const verdict = holdfast.approve(id, ada)
    const waits = `select from pg_stat_activity where wait_event_type = 'Lock' and query like '%decide_approval%'`
    await eventually(async () => (await queue.sql(waits)).length === 1)
    await producer.query('commit')
    expect(await verdict).toMatchObject({ done: false, because: expect.stringContaining('it has revision 3 now') })
    expect(await holdfast.approve(id, ada, { revision: 3 })).toMatchObject({ done: true, status: 'pending' })
    await expect(holdfast.approve(id, ada, { revision: 0 })).rejects.toThrow(/a whole number from 1/)
  })

  it('an approval stands where the payload is the same and nothing stricter is asked', async () => {
    const { id } = await enqueue('seen', { unique: replace, approval: true, delay: '1h' })
    await holdfast.approve(id, ada)
    expect((await enqueue('seen', { unique: replace, delay: '2h' })).status).toBe('replaced')
    expect(await holdfast.job(id)).toMatchObject({ status: 'scheduled', approval: { verdicts: [{ by: 'ada' }] } })
    await enqueue('seen', { unique: replace, approval: { quorum: 2 } })
    expect(await holdfast.job(id)).toMatchObject({ status: 'awaiting_approval', approval: { quorum: 2, verdicts: [] } })
  })

  it('a deadline that approves does not approve what nobody has seen', async () => {
    const approval = { deadline: '1h', onDeadline: 'approve' } as const
    const { id } = await enqueue('seen', { unique: replace, approval })
    await enqueue('unseen', { unique: replace })
    expect(await holdfast.job(id)).toMatchObject({ status: 'awaiting_approval', approval: { deadline: null } })
    await enqueue('unseen too', { unique: replace, approval })
    expect(await holdfast.job(id)).toMatchObject({ approval: { deadline: expect.any(Date), onDeadline: 'approve' } })
  })
})

it('debounce without a longest wait puts the job off by its delay each time', async () => {
  const unique = { key: 'k', onConflict: 'debounce', delay: '60s' } as const
  const { id } = await enqueue(1, { unique })
  expect(await enqueue(2, { unique })).toEqual({ id, status: 'debounced' })
  const due = await queue.sql('select extract(epoch from due_at - holdfast.now())::float8 as s from holdfast.jobs')
  expect(due[0]?.s).toBeGreaterThan(30)
  expect(await holdfast.job(id)).toMatchObject({ status: 'scheduled', payload: 2 })
})

describe('an enqueue that is sent again while its first try is still under way', () => {
  it.each(['reject', 'existing', 'replace', 'one_more'] as const)('meets its own job, and does not %s it', async (onConflict) => {
    const id = (await queue.sql('select holdfast.new_job_id() as id'))[0]?.id as string
    const unique = { key: 'k', onConflict }
    const first = await queue.connect()
    await first.query('begin')
    await holdfast.enqueue(sync, 'sent', { id, unique, tx: first })
    const again = enqueue('sent', { id, unique })
    await vi.waitFor(async () => {
      const waiting = `select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      expect(await queue.sql(waiting)).toEqual([{ n: 1 }])
    }, soon)
    await first.query('commit')
    expect(await again).toEqual({ id, status: 'existing' })
    expect(await queue.sql('select id, status from holdfast.jobs')).toEqual([{ id, status: 'pending' }])
  })
})
