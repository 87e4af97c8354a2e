import { defineType, type Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const ada = { by: 'ada' }
let queue: Queue
let holdfast: Holdfast

beforeEach(async () => {
  queue = await makeQueue()
  holdfast = queue.holdfast
})

const isNow = (id: string, status: string) =>
  eventually(async () => (await holdfast.job(id))?.status === status, { within: 60_000 })

/** Takes as many signals as its payload says, and returns them. */
const taker = (options: object = {}) =>
  defineType({
    type: 'taker',
    ...options,
    async run({ count, timeout }: { count: number; timeout?: string }, ctx) {
      const taken: unknown[] = []
      for (let n = 0; n < count; n++)
        taken.push((await ctx.waitFor('go', timeout === undefined ? {} : { timeout })) ?? 'none came')
      return taken
    },
  })

describe('a signal', () => {
  test('that comes first is stored, those of one name are taken in their order, and each once', async () => {
    const type = taker()
    const { id } = await holdfast.enqueue(type, { count: 3 })
    for (const n of [1, 2]) await holdfast.signal(id, 'go', n)
    await holdfast.signal(id, 'other', 'not asked for')
    await startHere(queue, [type])
    await isNow(id, 'blocked')
    await queue.sql(`select holdfast.signal($1, 'go', '3')`, [id])
    expect(await holdfast.wait(id)).toEqual([1, 2, 3])
    expect((await holdfast.job(id))?.signals.map(({ name, delivered }) => [name, delivered])).toEqual([
      ...[
        ['go', true],
        ['go', true],
        ['other', false],
        ['go', true],
      ],
    ])
  })

  test('in a transaction is sent when that commits, and not at all where it rolls back', async () => {
    const type = taker()
    await startHere(queue, [type])
    const { id } = await holdfast.enqueue(type, { count: 1 })
    await isNow(id, 'blocked')
    const tx = await queue.connect()
    for (const [word, end] of [
      ['undone', 'rollback'],
      ['done', 'commit'],
    ] as const) {
      await tx.query('begin')
      await holdfast.signal(id, 'go', word, { tx })
      expect(await holdfast.job(id)).toMatchObject({ status: 'blocked', signals: [] })
      await tx.query(end)
    }
    expect(await holdfast.wait(id)).toEqual(['done'])
  })

  test('that does not come in time resolves the wait with nothing, by the clock of the database', async () => {
    const type = taker()
    await startHere(queue, [type])
    const { id } = await holdfast.enqueue(type, { count: 1, timeout: '200ms' })
    expect(await holdfast.wait(id)).toEqual(['none came'])
  })

  test('to a job that has ended, that nobody knows or of an impossible name is refused', async () => {
    const type = taker()
    await startHere(queue, [type])
    const { id } = await holdfast.enqueue(type, { count: 0 })
    await isNow(id, 'completed')
    await expect(holdfast.signal(id, 'go')).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('completed'),
    })
    const unknown = '01890000-0000-7000-8000-000000000001'
    await expect(holdfast.signal(unknown, 'go')).rejects.toMatchObject({ code: 'not_found' })
    const waiting = await holdfast.enqueue(type, { count: 0 }, { delay: '1h' })
    await expect(holdfast.signal(waiting.id, 'go#2')).rejects.toMatchObject({ code: 'invalid_option' })
  })

  test('that somebody waits for is named by explain, and the job cannot be run without it', async () => {
    const type = taker()
    await startHere(queue, [type])
    const { id } = await holdfast.enqueue(type, { count: 1, timeout: '1h' })
    await isNow(id, 'blocked')
    const gate = { gate: 'signal', why: 'its handler waits for the signal "go"', opensInMs: expect.any(Number) }
    expect(await holdfast.explain(id)).toMatchObject({ status: 'blocked', gates: [gate] })
    expect(await holdfast.runNow(id, ada)).toMatchObject({ done: false, because: 'it waits for a signal' })
    expect(await holdfast.reschedule(id, { delay: '1s' }, ada)).toMatchObject({ done: false, because: 'it waits for a signal' })
    expect(await holdfast.cancel(id, ada)).toMatchObject({ done: true, was: 'blocked' })
  })

  test('sent at any moment beside a settle that blocks its job is never lost', async () => {
    const type = taker()
    await startHere(queue, [type], { concurrency: 20 })
    const count = 12
    const jobs = await holdfast.enqueueMany(Array.from({ length: 25 }, () => type.job({ count })))
    await Promise.all(
      jobs.map(async ({ id }) => {
        for (let n = 0; n < count; n++) {
          await new Promise((resolve) => setTimeout(resolve, Math.random() * 30))
          await holdfast.signal(id, 'go', n)
        }
      }),
    )
    const all = Array.from({ length: count }, (_, n) => n)
    for (const { id } of jobs) expect(await holdfast.wait(id, { timeout: '60s' })).toEqual(all)
    const left = await queue.sql('select from holdfast.signals where delivered is null or unsure')
    expect(left).toEqual([])
  })

  test('sent at the moment at which its wait is over is taken by that wait or by none, and the job goes on either way', async () => {
    const type = taker()
    await startHere(queue, [type], { concurrency: 20 })
    const timeouts = Array.from({ length: 40 }, () => Math.ceil(Math.random() * 100))
    const jobs = await holdfast.enqueueMany(timeouts.map((ms) => type.job({ count: 1, timeout: `${ms}ms` })))
    await Promise.all(
      jobs.map(async ({ id }, n) => {
        await new Promise((resolve) => setTimeout(resolve, (timeouts[n] as number) + Math.random() * 100))
        await holdfast.signal(id, 'go', n).catch(({ code }) => expect(code).toBe('conflict'))
      }),
    )
    for (const [n, { id }] of jobs.entries()) {
      const [taken] = (await holdfast.wait(id, { timeout: '60s' })) as unknown[]
      const delivered = (await holdfast.job(id))?.signals.map((signal) => signal.delivered) ?? []
      if (taken === n) expect(delivered).toEqual([true])
      else expect([taken, ...delivered.filter(Boolean)]).toEqual(['none came'])
    }
  })

  test('committed while its job is locked by a settle is looked at again by the next tick', async () => {
    const type = taker()
    const worker = await startHere(queue, [type])
    const { id } = await holdfast.enqueue(type, { count: 1 })
    await isNow(id, 'blocked')
    await worker.stop()
    const other = await queue.connect()
    await other.query('begin')
    await other.query('select from holdfast.waiting where job_id = $1 for update', [id])
    await holdfast.signal(id, 'go', 'in between')
    await other.query('rollback')
    expect((await holdfast.job(id))?.status).toBe('blocked')
    await insideOf(holdfast).store.tick(100, '1970-01-01T00:00:00Z')
    expect((await holdfast.job(id))?.status).toBe('pending')
  })
})

describe('a sleep', () => {
  test('holds no slot, is named by explain, and goes on when somebody runs it now', async () => {
    const type = defineType({ type: 'trial', run: (_, ctx) => ctx.sleep('3d').then(() => 'awake') })
    const short = defineType({ type: 'short', run: () => 'ran meanwhile' })
    await startHere(queue, [type, short], { concurrency: 1 })
    const { id } = await holdfast.enqueue(type, {})
    await isNow(id, 'scheduled')
    expect(await holdfast.wait(await holdfast.enqueue(short, {}))).toBe('ran meanwhile')
    expect(await holdfast.explain(id)).toMatchObject({
      gates: [{ gate: 'sleep', why: expect.stringMatching(/its handler sleeps until/) }],
    })
    expect((await holdfast.job(id))?.steps).toMatchObject([{ name: 'sleep', state: 'waiting', until: expect.any(Date) }])
    await holdfast.runNow(id, ada)
    expect(await holdfast.wait(id)).toBe('awake')
  })

  test('that is woken early goes back to sleep', async () => {
    const type = defineType({ type: 'trial', run: (_, ctx) => ctx.sleep('3d') })
    await startHere(queue, [type])
    const { id } = await holdfast.enqueue(type, {})
    await isNow(id, 'scheduled')
    await queue.sql('update holdfast.waiting set due_at = holdfast.now()')
    await eventually(async () => ((await holdfast.job(id))?.attempts.length ?? 0) === 2)
    await isNow(id, 'scheduled')
    expect((await holdfast.job(id))?.attempts).toMatchObject([
      { attempt: 1, outcome: 'snoozed' },
      { attempt: 1, outcome: 'snoozed' },
    ])
  })

  test('beside a wait ends with whichever is first', async () => {
    const type = defineType({
      type: 'both',
      async run(_, ctx) {
        const first = await Promise.race([ctx.sleep('150ms').then(() => 'slept'), ctx.waitFor('go', { timeout: '1h' })])
        return first
      },
    })
    await startHere(queue, [type])
    expect(await holdfast.wait(await holdfast.enqueue(type, {}), { timeout: '60s' })).toBe('slept')
  })
})
