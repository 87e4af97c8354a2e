import { type ApprovalOption, defineType, type Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import type { ScratchDatabase } from 'holdfast/testing'
import { startWorker, type Worker } from 'holdfast/worker'
import pg from 'pg'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { eachTestHas } from '../support/fresh-installation.js'

const quiet = { info() {}, warn() {}, error() {} }
const patient = { timeout: 20_000, interval: 100 }
const ada = { by: 'ada', why: 'looks right' }
const week = { completedMs: 7 * 86_400_000, deadMs: 30 * 86_400_000 }

let scratch: ScratchDatabase
let holdfast: Holdfast
let sql: pg.Client
let workers: Worker[]
let ran: string[]

const plain = defineType({ type: 'plain', run: (name) => void ran.push(name as string) })
const guarded = defineType({ type: 'guarded', approval: { quorum: 2 }, run: (name) => void ran.push(name as string) })

eachTestHas({}, async (made) => {
  ;({ scratch, holdfast, sql } = made)
  await holdfast.registerTypes([plain, guarded])
  ran = []
  await start()
})
afterEach(async () => {
  await Promise.all(workers.map((worker) => worker.stop()))
})

async function start(): Promise<void> {
  workers = await Promise.all([1, 2].map(() => startWorker(holdfast, [plain, guarded], { logger: quiet, poll: '60s' })))
}

async function becomes(id: string, status: string): Promise<void> {
  await vi.waitFor(async () => expect((await holdfast.job(id))?.status).toBe(status), patient)
}

/** A job that waits, and has been waiting while two workers were at work on another one. */
async function waits(approval: ApprovalOption = true): Promise<string> {
  const { id } = await holdfast.enqueue(plain, 'asked', { approval })
  const { id: other } = await holdfast.enqueue(plain, 'other')
  await becomes(other, 'completed')
  expect(await holdfast.job(id)).toMatchObject({ status: 'awaiting_approval' })
  expect(ran).toEqual(['other'])
  return id
}

describe('a job that needs approval', () => {
  it('runs after it was approved and not before, and its story says by whom', async () => {
    // Everybody sleeps for a minute when the approval comes: it has to call somebody.
    await holdfast.flow.setLane('default', { poll: '60s' }, ada)
    await Promise.all(workers.map((worker) => worker.stop()))
    await start()
    const id = await waits()
    await vi.waitFor(async () => expect((await sql.query('select from holdfast.idle_workers')).rowCount).toBe(2), patient)
    expect(await holdfast.approve(id, ada)).toEqual({
      id,
      done: true,
      was: 'awaiting_approval',
      status: 'pending',
      approvals: 1,
      quorum: 1,
    })
    await becomes(id, 'completed')
    expect(ran).toEqual(['other', 'asked'])
    expect((await holdfast.job(id))?.approval).toEqual({
      ...{ quorum: 1, revision: 1 },
      deadline: null,
      onDeadline: 'cancel',
      verdicts: [{ by: 'ada', verdict: 'approve', why: 'looks right', at: expect.any(Date) }],
    })
  })

  it('ends as cancelled when it is rejected, with the reason in its history', async () => {
    const id = await waits()
    expect(await holdfast.reject(id, { by: 'bob', why: 'wrong account' })).toMatchObject({ done: true, status: 'cancelled' })
    expect(await holdfast.job(id)).toMatchObject({
      status: 'cancelled',
      attempts: [{ outcome: 'cancelled', startedAt: null, error: { by: 'bob', why: 'wrong account' } }],
      approval: { verdicts: [{ by: 'bob', verdict: 'reject', why: 'wrong account' }] },
    })
    expect(await holdfast.approve(id, ada)).toMatchObject({
      done: false,
      status: 'cancelled',
      because: 'it was already cancelled',
    })
    expect(ran).toEqual(['other'])
  })

  it('needs as many different people as its type asks for; one who approves twice counts once', async () => {
    const { id } = await holdfast.enqueue(guarded, 'guarded')
    expect(await holdfast.approve(id, ada)).toMatchObject({ done: true, status: 'awaiting_approval', approvals: 1, quorum: 2 })
    expect(await holdfast.approve(id, ada)).toMatchObject({ done: false, approvals: 1, because: 'ada has already approved it' })
    expect((await holdfast.job(id))?.status).toBe('awaiting_approval')
    expect(await holdfast.approve(id, { by: 'bob' })).toMatchObject({ done: true, status: 'pending', approvals: 2 })
    await becomes(id, 'completed')
    expect(await holdfast.approve(id, { by: 'eve' })).toMatchObject({ done: false, because: 'it has already completed' })
    expect((await holdfast.job(id))?.approval?.verdicts.map((verdict) => verdict.by)).toEqual(['ada', 'bob'])
  })

  it('runs once, and counts each person once, when a hundred verdicts arrive together', async () => {
    const ids = (await holdfast.enqueueMany(Array.from({ length: 20 }, () => guarded.job('many')))).map((job) => job.id)
    const people = ['ada', 'bob', 'eve', 'ada', 'bob']
    const answers = await Promise.all(ids.flatMap((id) => people.map((by) => holdfast.approve(id, { by }))))
    expect(answers.filter((answer) => answer.done)).toHaveLength(40)
    for (const id of ids) await becomes(id, 'completed')
    expect(ran).toHaveLength(20)
    const { rows } = await sql.query('select count(*)::int as n from holdfast.approvals group by job_id')
    expect(rows.every((row) => row.n === 2)).toBe(true)
  })

  it('cannot be waived or weakened by its producer, only made stricter', async () => {
    await expect(holdfast.enqueue(guarded, 'x', { approval: false as never })).rejects.toMatchObject({ field: 'approval' })
    const { id } = await holdfast.enqueue(guarded, 'x', { approval: { quorum: 1, deadline: '1h', onDeadline: 'approve' } })
    expect((await holdfast.job(id))?.approval).toMatchObject({ quorum: 2, onDeadline: 'cancel', deadline: expect.any(Date) })
    const { id: strict } = await holdfast.enqueue(guarded, 'x', { approval: { quorum: 3 } })
    expect((await holdfast.job(strict))?.approval).toMatchObject({ quorum: 3 })
    await sql.query(`select holdfast.enqueue('guarded', '{}')`)
    const { rows } = await sql.query(`select status, count(*)::int as count from holdfast.jobs group by status`)
    expect(rows).toEqual([{ status: 'awaiting_approval', count: 3 }])
  })

  it('waits for its time afterwards when that lies in the future', async () => {
    const { id } = await holdfast.enqueue(plain, 'later', { approval: true, delay: '1h' })
    expect(await holdfast.runNow(id, ada)).toMatchObject({ done: false, because: 'it waits for approval' })
    expect(await holdfast.reschedule(id, { delay: '2h' }, ada)).toMatchObject({ done: true, status: 'awaiting_approval' })
    expect(await holdfast.approve(id, ada)).toMatchObject({ status: 'scheduled' })
    const { rows } = await sql.query(
      'select round(extract(epoch from due_at - holdfast.now()) / 60)::int as minutes from holdfast.jobs where id = $1',
      [id],
    )
    expect(rows).toEqual([{ minutes: 120 }])
    await holdfast.runNow(id, ada)
    await becomes(id, 'completed')
  })

  it('still goes through the gate of its type', async () => {
    await holdfast.flow.pauseType('plain', ada)
    const { id } = await holdfast.enqueue(plain, 'gated', { approval: true, concurrencyKey: 'k' })
    expect(await holdfast.approve(id, ada)).toMatchObject({ status: 'pending' })
    expect((await sql.query('select concurrency_key from holdfast.queue')).rows).toEqual([{ concurrency_key: 'k' }])
    await holdfast.flow.resumeType('plain', { by: 'ada' })
    await becomes(id, 'completed')
  })

  it('can be cancelled, also by filter', async () => {
    const id = await waits()
    const { id: other } = await holdfast.enqueue(plain, 'x', { approval: true })
    expect(await holdfast.cancel(id, ada)).toMatchObject({ done: true, was: 'awaiting_approval', status: 'cancelled' })
    expect(await holdfast.cancelMany({ status: 'awaiting_approval' }, ada)).toEqual({ matched: 1, done: 1, refused: {} })
    expect((await holdfast.job(other))?.status).toBe('cancelled')
  })
})

describe('the deadline of an approval', () => {
  it.each([
    ['cancel', 'cancelled'],
    ['approve', 'completed'],
  ] as const)('applies its policy: %s', async (onDeadline, status) => {
    const { id } = await holdfast.enqueue(plain, 'asked', { approval: { quorum: 2, deadline: 500, onDeadline } })
    await holdfast.approve(id, ada)
    await becomes(id, status)
    const story = await holdfast.job(id)
    expect(story?.attempts).toHaveLength(1)
    expect(story?.approval?.verdicts).toMatchObject([
      { by: 'ada' },
      { by: 'holdfast', why: 'nobody had decided by the deadline' },
    ])
    expect(ran).toEqual(onDeadline === 'approve' ? ['asked'] : [])
    expect(await holdfast.approve(id, { by: 'bob' })).toMatchObject({ done: false, status })
  })

  it('holds for a verdict that comes after it, though no worker has applied it yet', async () => {
    await Promise.all(workers.map((worker) => worker.stop()))
    const { id } = await holdfast.enqueue(plain, 'late', { approval: { deadline: 1 } })
    await vi.waitFor(async () => {
      const { rows } = await sql.query('select due_at < holdfast.now() as over from holdfast.waiting where job_id = $1', [id])
      expect(rows).toEqual([{ over: true }])
    }, patient)
    expect(await holdfast.approve(id, ada)).toMatchObject({
      done: false,
      was: 'awaiting_approval',
      status: 'cancelled',
      because: expect.stringContaining('its deadline was'),
    })
  })

  it('is applied once to each of three thousand jobs, whoever of two workers is first', { timeout: 60_000 }, async () => {
    const jobs = Array.from({ length: 3_000 }, (_, i) =>
      plain.job('x', { approval: { deadline: 300, onDeadline: i % 2 === 0 ? 'approve' : 'cancel' } }),
    )
    await holdfast.enqueueMany(jobs)
    await vi.waitFor(
      async () =>
        expect(await insideOf(holdfast).store.inspect.countByStatus()).toEqual([
          { type: 'plain', status: 'cancelled', count: 1_500 },
          { type: 'plain', status: 'completed', count: 1_500 },
        ]),
      { timeout: 50_000, interval: 100 },
    )
    expect(ran).toHaveLength(1_500)
  })
})

describe('asking for approval', () => {
  it('is part of the transaction of the caller', async () => {
    const tx = new pg.Client({ connectionString: scratch.connectionString })
    await tx.connect()
    const ask = async (end: 'commit' | 'rollback') => {
      await tx.query('begin')
      const { id } = await holdfast.enqueue(plain, end, { approval: true, tx })
      await tx.query(end)
      return id
    }
    await expect(holdfast.approve(await ask('rollback'), ada)).rejects.toMatchObject({ code: 'not_found' })
    expect(await holdfast.approve(await ask('commit'), ada)).toMatchObject({ done: true })
    await tx.end()
    const { rows } = await sql.query('select count(*)::int as n from holdfast.approval_requests')
    expect(rows).toEqual([{ n: 1 }])
  })

  it('works from SQL', async () => {
    const enqueue = `select id from holdfast.enqueue('plain', '"sql"', $1)`
    const { rows } = await sql.query(enqueue, [{ approval: { quorum: 2, deadline: '2 hours', on_deadline: 'approve' } }])
    expect((await holdfast.job(rows[0].id))?.approval).toMatchObject({
      quorum: 2,
      onDeadline: 'approve',
      deadline: expect.any(Date),
    })
    for (const approval of [
      false,
      7,
      { quorum: 0 },
      { deadline: '-1 s' },
      { deadline: 'infinity' },
      { deadline: '6 years' },
      { on_deadline: 'x' },
      { quorumm: 1 },
    ]) {
      await expect(sql.query(enqueue, [{ approval }])).rejects.toMatchObject({ code: 'HF002' })
    }
  })

  // One test for all of them: none gets as far as the database that each test has of its own.
  it('is refused where it cannot be meant', async () => {
    const refused = [
      [{ quorum: 0 }, 'approval.quorum'],
      [{ quorum: 1.5 }, 'approval.quorum'],
      [{ deadline: 0 }, 'approval.deadline'],
      [{ deadline: 'soon' }, 'approval.deadline'],
      [{ onDeadline: 'approve' }, 'approval.onDeadline'],
      [{ deadline: '1h', onDeadline: 'maybe' }, 'approval.onDeadline'],
      [{ quorun: 1 }, 'approval.quorun'],
      ['yes', 'approval'],
    ] as [never, string][]
    for (const [approval, field] of refused) {
      const enqueued = holdfast.enqueue(plain, 'x', { approval })
      await expect(enqueued, field).rejects.toMatchObject({ code: 'invalid_option', field })
      expect(() => defineType({ type: 'x', approval })).toThrow(expect.objectContaining({ field }))
    }
  })

  it('is refused a verdict by nobody, without a reason, and on a job nobody knows or that needs none', async () => {
    const id = await waits()
    await expect(holdfast.approve(id, { by: '' })).rejects.toMatchObject({ field: 'by' })
    await expect(holdfast.reject(id, { by: 'bob', why: ' ' })).rejects.toMatchObject({ field: 'why' })
    await expect(holdfast.approve('018f0000-0000-7000-8000-000000000000', ada)).rejects.toMatchObject({ code: 'not_found' })
    await expect(holdfast.approve('x', ada)).rejects.toMatchObject({ field: 'id' })
    const { id: free } = await holdfast.enqueue(plain, 'free', { delay: '1h' })
    expect(await holdfast.approve(free, ada)).toMatchObject({
      done: false,
      status: 'scheduled',
      because: 'it does not wait for approval',
    })
    expect(await holdfast.reject(free, { by: 'bob', why: 'no' })).toMatchObject({ done: false, status: 'scheduled' })
  })
})

it('verdicts and changes are swept with their job, and not before', async () => {
  const id = await waits({ deadline: '20d' })
  await holdfast.setPriority(id, 7, ada)
  await holdfast.approve(id, ada)
  await becomes(id, 'completed')
  await Promise.all(workers.map((worker) => worker.stop()))
  const left = async () => {
    await insideOf(holdfast).store.partitions.make()
    while ((await insideOf(holdfast).store.partitions.dropOne(week)) !== null);
    await insideOf(holdfast).store.partitions.sweep(week, 1_000)
    const { rows } = await sql.query(`select (select count(*)::int from holdfast.approvals) as approvals,
      (select count(*)::int from holdfast.approval_requests) as requests, (select count(*)::int from holdfast.moves) as moves`)
    return rows[0]
  }
  expect(await left()).toEqual({ approvals: 1, requests: 1, moves: 1 })
  await sql.query(`create or replace function holdfast.now() returns timestamptz language sql volatile parallel safe
                   as 'select pg_catalog.clock_timestamp() + interval ''10 days'''`)
  expect(await left()).toEqual({ approvals: 0, requests: 0, moves: 0 })
})
