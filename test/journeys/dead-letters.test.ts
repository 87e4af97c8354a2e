import { defineType, FatalError, type Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import type pg from 'pg'
import { describe, expect, it, vi } from 'vitest'
import { makeDead } from '../support/dead-letters.js'
import { eachTestHas } from '../support/fresh-installation.js'

const quiet = { info() {}, warn() {}, error() {} }
const by = { by: 'ada', why: 'the mail server is back' }
const patient = { timeout: 60_000, interval: 100 }

interface Letter {
  to: string
  fails?: 'fatal' | 'always'
}

/** Refuses what has no `to`. */
const schema = {
  '~standard': {
    version: 1 as const,
    vendor: 'test',
    validate: (value: unknown) =>
      typeof (value as Letter)?.to === 'string'
        ? { value: value as Letter }
        : { issues: [{ message: 'must be a text', path: ['to'] }] },
  },
}
let repaired: boolean
let ran: { payload: unknown; attempt: number; checkpoint: unknown }[]
const mail = defineType({
  type: 'mail',
  payload: schema,
  maxAttempts: 2,
  limits: { breaker: false },
  backoff: { base: 0, jitter: 0 },
  async run(payload: Letter, ctx) {
    ran.push({ payload, attempt: ctx.job.attempt, checkpoint: await ctx.lastCheckpoint() })
    if (repaired) return
    ctx.progress(0.5, 'half')
    await ctx.checkpoint({ page: 4 })
    if (payload.fails === 'fatal') throw new FatalError(`no such address: ${payload.to}`)
    if (payload.fails === 'always') throw new Error('Connection refused by mail.example')
  },
})
const other = defineType({ type: 'other', limits: { breaker: false }, run: () => Promise.reject(new FatalError('never')) })

let holdfast: Holdfast
let sql: pg.Client

eachTestHas({}, async (made) => {
  ;({ holdfast, sql } = made)
  await holdfast.registerTypes([mail, other])
  repaired = false
  ran = []
})

/** Runs until nothing is left that could run. */
async function runAll(): Promise<void> {
  const worker = await startWorker(holdfast, [mail, other], { logger: quiet })
  await vi.waitFor(
    async () =>
      expect(
        (await sql.query('select from holdfast.queue union all select from holdfast.waiting where due_at < holdfast.now()'))
          .rowCount,
      ).toBe(0),
    patient,
  )
  await worker.stop()
}

async function oneDead(payload: Letter = { to: 'x', fails: 'fatal' }): Promise<string> {
  const { id } = await holdfast.enqueue(mail, payload)
  await runAll()
  return id
}

const manyDead = (count: number, type = 'mail') => makeDead(holdfast, sql, count, type)

describe('a dead letter', () => {
  it('is listed and shown with its payload, every attempt and every error', async () => {
    const id = await oneDead({ to: 'x', fails: 'always' })
    const { letters, next } = await holdfast.deadLetters.list()
    expect(next).toBeUndefined()
    expect(letters).toMatchObject([
      { id, type: 'mail', reason: 'exhausted', attempt: 2, maxAttempts: 2, priority: 5, diedAt: expect.any(Date) },
    ])
    expect(letters[0]?.error).toEqual({
      name: 'Error',
      message: 'Connection refused by mail.example',
      fingerprint: expect.stringMatching(/^[0-9a-f]{16}$/),
    })
    expect(await holdfast.deadLetters.get(id)).toMatchObject({
      status: 'dead',
      reason: 'exhausted',
      payload: { to: 'x', fails: 'always' },
      error: { message: 'Connection refused by mail.example', stack: expect.any(String) },
      attempts: [
        { attempt: 1, error: { name: 'Error' } },
        { attempt: 2, outcome: 'failed' },
      ],
    })
    expect(await holdfast.deadLetters.get((await holdfast.enqueue(mail, { to: 'alive' })).id)).toBeUndefined()
  })

  it('runs again when it is replayed: the same job, with all its attempts, and the story tells both lives', async () => {
    const id = await oneDead({ to: 'x', fails: 'always' })
    expect(await holdfast.deadLetters.replay(id, by)).toEqual({ id, done: true, was: 'dead', status: 'pending' })
    expect((await holdfast.deadLetters.list()).letters).toEqual([])
    await runAll()
    expect(ran.map(({ attempt }) => attempt)).toEqual([1, 2, 1, 2])
    // As a retry does, it went on from its checkpoint.
    expect(ran[2]?.checkpoint).toEqual({ page: 4 })
    const again = await holdfast.deadLetters.get(id)
    expect(again?.attempts.map(({ attempt, outcome }) => `${attempt} ${outcome}`)).toEqual([
      '1 failed',
      '2 failed',
      '1 failed',
      '2 failed',
    ])
    repaired = true
    await holdfast.deadLetters.replay(id, by)
    await runAll()
    expect(await holdfast.job(id)).toMatchObject({
      status: 'completed',
      changes: [
        { move: 'replay', by: 'ada', why: by.why, before: { reason: 'exhausted', attempt: 2 }, after: { attempt: 1 } },
        { move: 'replay' },
      ],
    })
  })

  it('takes a new payload, which is checked like that of an enqueue; the old one stays in the story as it was', async () => {
    const id = await oneDead({ to: 'ada@exmaple.com', fails: 'fatal' })
    const wrong = holdfast.deadLetters.replay(id, by, { payload: { too: 'ada' } })
    await expect(wrong).rejects.toMatchObject({ code: 'payload_rejected', field: 'payload.to' })
    await expect(holdfast.deadLetters.replay(id, by, { payload: 1n })).rejects.toMatchObject({ code: 'invalid_payload' })
    expect(await holdfast.deadLetters.get(id)).toMatchObject({ status: 'dead', changes: [] })
    await holdfast.deadLetters.replay(id, by, { payload: { to: 'ada@example.com' } })
    await runAll()
    expect(ran.at(-1)).toEqual({ payload: { to: 'ada@example.com' }, attempt: 1, checkpoint: undefined })
    const story = await holdfast.job(id)
    expect(story).toMatchObject({ status: 'completed', payload: { to: 'ada@example.com' } })
    expect(story?.changes[0]?.before.payload).toEqual({ to: 'ada@exmaple.com', fails: 'fatal' })
    expect(story?.changes[0]?.after.payload).toEqual({ to: 'ada@example.com' })
  })

  it('with a new payload has to be approved again where somebody had approved the old one', async () => {
    const { id } = await holdfast.enqueue(mail, { to: 'x', fails: 'fatal' }, { approval: true })
    await holdfast.approve(id, { by: 'grace' })
    await runAll()
    const answer = await holdfast.deadLetters.replay(id, by, { payload: { to: 'everybody' } })
    expect(answer).toMatchObject({ done: true, status: 'awaiting_approval' })
    const story = await holdfast.job(id)
    expect(story).toMatchObject({
      status: 'awaiting_approval',
      approval: { verdicts: [] },
      changes: [{ before: { approved_by: ['grace'] } }],
    })
    await holdfast.approve(id, { by: 'grace' })
    await runAll()
    expect((await holdfast.job(id))?.status).toBe('completed')
  })

  it('replayed as it was runs without being approved once more, and passes the gate of its type like any other', async () => {
    const { id } = await holdfast.enqueue(mail, { to: 'x', fails: 'fatal' }, { approval: true })
    await holdfast.approve(id, { by: 'grace' })
    await runAll()
    await holdfast.flow.pauseType('mail', by)
    expect(await holdfast.deadLetters.replay(id, by)).toMatchObject({ status: 'pending' })
    expect(await holdfast.explain(id)).toMatchObject({ gates: [{ gate: 'type_paused' }, { gate: 'no_worker' }] })
    repaired = true
    await holdfast.flow.resumeType('mail', { by: 'ada' })
    await runAll()
    expect((await holdfast.job(id))?.status).toBe('completed')
  })

  it('ends as discarded, for everybody to see, and cannot be replayed any more', async () => {
    const id = await oneDead()
    expect(await holdfast.deadLetters.discard(id, by)).toEqual({ id, done: true, was: 'dead', status: 'discarded' })
    const story = await holdfast.job(id)
    expect(story).toMatchObject({
      status: 'discarded',
      attempts: [{ outcome: 'failed' }, { outcome: 'discarded', error: { by: 'ada' } }],
    })
    expect((await holdfast.deadLetters.list()).letters).toEqual([])
    const refusal = { done: false, was: 'discarded', because: 'it was already discarded' }
    expect(await holdfast.deadLetters.replay(id, by)).toMatchObject(refusal)
    expect(await holdfast.deadLetters.discard(id, by)).toMatchObject(refusal)
  })

  it('is asked for in vain where the job lives, is unknown or has no id, and nobody did it', async () => {
    const { id } = await holdfast.enqueue(mail, { to: 'x' })
    expect(await holdfast.deadLetters.replay(id, by)).toMatchObject({ done: false, because: 'it is not dead but pending' })
    const unknown = '01900000-0000-7000-8000-000000000001'
    await expect(holdfast.deadLetters.replay(unknown, by)).rejects.toMatchObject({ code: 'not_found' })
    await expect(holdfast.deadLetters.discard('..', by)).rejects.toMatchObject({ code: 'invalid_option', field: 'id' })
    await expect(holdfast.deadLetters.replay(id, { by: '' })).rejects.toMatchObject({ code: 'invalid_option', field: 'by' })
  })
})

describe('the list of dead letters', () => {
  it('comes in pages, newest first, each once, though more die meanwhile', async () => {
    const ids = await manyDead(25)
    const seen: string[] = []
    for (let after: string | undefined; ; ) {
      const page = await holdfast.deadLetters.list({ type: 'mail' }, { limit: 10, ...(after ? { after } : {}) })
      seen.push(...page.letters.map(({ id }) => id))
      if (!page.next) break
      after = page.next
      await manyDead(3)
    }
    expect([...seen].sort()).toEqual([...ids].sort())
    const { rows } = await sql.query(
      'select job_id from holdfast.dead_letters where job_id = any ($1) order by died_at desc, job_id desc',
      [ids],
    )
    expect(seen).toEqual(rows.map((row) => row.job_id))
  })

  it('finds by type, reason, error text and time', async () => {
    const fatal = await oneDead({ to: 'Ada', fails: 'fatal' })
    const exhausted = await oneDead({ to: 'x', fails: 'always' })
    const [otherId] = await manyDead(1, 'other')
    const found = async (filter: Parameters<typeof holdfast.deadLetters.list>[0]) =>
      (await holdfast.deadLetters.list(filter)).letters.map(({ id }) => id)
    expect(await found({})).toEqual([otherId, exhausted, fatal])
    expect(await found({ type: 'other' })).toEqual([otherId])
    expect(await found({ reason: 'fatal' })).toEqual([fatal])
    expect(await found({ error: 'no such ADDRESS: ada' })).toEqual([fatal])
    expect(await found({ error: 'Error: Connection refused', type: 'mail' })).toEqual([exhausted])
    const { diedAt } = (await holdfast.deadLetters.get(exhausted)) as { diedAt: Date }
    expect(await found({ diedBefore: diedAt })).toEqual([fatal])
    expect(await found({ diedFrom: diedAt, diedBefore: new Date(diedAt.getTime() + 1) })).toEqual([exhausted])
  })

  it('looks for a text through any number of errors in short steps, and says when it is through', async () => {
    await manyDead(12_000)
    const needle = (await holdfast.deadLetters.list({}, { limit: 1 })).letters[0]?.error?.message as string
    await sql.query(`update holdfast.dead_letters set error = jsonb_set(error, '{message}', '"the needle"')
                     where job_id = (select job_id from holdfast.dead_letters order by died_at, job_id limit 1)`)
    const found: unknown[] = []
    let pages = 0
    for (let after: string | undefined; ; pages++) {
      const page = await holdfast.deadLetters.list({ error: 'NEEDLE' }, after ? { after } : {})
      found.push(...page.letters)
      if (!page.next) break
      after = page.next
    }
    expect(found).toHaveLength(1)
    expect(pages).toBe(2)
    expect((await holdfast.deadLetters.list({ error: `${needle}` }, { limit: 1 })).letters).toHaveLength(1)
  })

  it('refuses what it does not know, and says what it is', async () => {
    const refused = (field: string) => ({ code: 'invalid_option', field })
    const list = holdfast.deadLetters.list.bind(holdfast.deadLetters) as (filter: unknown, options?: unknown) => Promise<unknown>
    await expect(list({ typ: 'mail' })).rejects.toThrow('did you mean "type"?')
    await expect(list({ reason: 'died' })).rejects.toMatchObject(refused('reason'))
    await expect(list({ error: 'a\0b' })).rejects.toMatchObject(refused('error'))
    await expect(list({ diedFrom: new Date(Number.NaN) })).rejects.toMatchObject(refused('diedFrom'))
    await expect(list({ type: 'mial' })).rejects.toMatchObject({ code: 'unknown_type' })
    for (const limit of [0, -1, 1e9, Number.NaN, '5']) await expect(list({}, { limit })).rejects.toMatchObject(refused('limit'))
    for (const after of ['', '..', 'x'.repeat(300), 7]) await expect(list({}, { after })).rejects.toMatchObject(refused('after'))
    await expect(holdfast.deadLetters.replayMany({}, by)).rejects.toThrow('{ all: true }')
  })
})
