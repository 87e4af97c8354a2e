import { defineType, FatalError } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { type DrainReport, type ScratchQueue, scratchQueue } from 'holdfast/testing'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

let queue: ScratchQueue
beforeEach(async () => {
  queue = await scratchQueue()
})
afterEach(() => queue.close())

const ordinary = defineType({
  type: 'ordinary',
  maxAttempts: 3,
  async run(payload, ctx) {
    if (payload === 'fails once' && ctx.job.attempt === 1) throw new Error('not today')
    if (payload === 'always fails') throw new Error('never')
    if (payload === 'dies') throw new FatalError('for good')
    if (payload === 'snoozes' && !awake.has(ctx.job.id)) {
      awake.add(ctx.job.id)
      return ctx.snooze('10m')
    }
  },
})
const awake = new Set<string>()
const other = defineType({ type: 'other', run() {} })

const enqueue = (payload: string) => queue.holdfast.enqueue(ordinary, payload)
const payloads = (jobs: { payload: unknown }[]) => jobs.map((job) => job.payload)

describe('draining a queue', () => {
  test('runs what is due and sorts the jobs by what became of them', async () => {
    for (const payload of ['works', 'fails once', 'always fails', 'dies', 'snoozes']) await enqueue(payload)
    await queue.holdfast.enqueue(ordinary, 'later', { delay: '1h' })
    const report = await queue.drain([ordinary])
    expect(payloads(report.completed)).toEqual(['works'])
    expect(payloads(report.failed).sort()).toEqual(['always fails', 'fails once'])
    expect(payloads(report.dead)).toEqual(['dies'])
    expect(payloads(report.snoozed)).toEqual(['snoozes'])
    expect(report.jobs).toHaveLength(5)
  })

  test('has nothing to say about an empty queue', async () => {
    expect(await queue.drain([ordinary])).toEqual({ jobs: [], completed: [], failed: [], snoozed: [], dead: [], left: [] })
  })

  test('sends no webhooks, neither of the type nor of the job: they are left as jobs', async () => {
    const webhook = { url: 'https://hooks.example.com/mail', secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}` }
    const mail = defineType({ type: 'mail', webhook, run() {} })
    await queue.holdfast.enqueue(mail, {}, { webhook })
    const { jobs } = await queue.drain([mail], { throughTime: true })
    expect(jobs.map(({ type }) => type)).toEqual(['mail'])
    expect(await queue.enqueued('holdfast:webhook')).toMatchObject([{ status: 'pending' }, { status: 'pending' }])
  })

  test('tells the whole story of each job, errors with their stack included', async () => {
    await enqueue('always fails')
    const { dead } = await queue.drain([ordinary], { throughTime: true })
    expect(dead[0]?.attempts).toMatchObject([
      { attempt: 1, outcome: 'failed', error: { message: 'never', stack: expect.stringContaining('drain.test') } },
      { attempt: 2, outcome: 'failed', worker: 'drain' },
      { attempt: 3, outcome: 'failed' },
    ])
  })

  test('runs what the handlers enqueue, to the end of the chain', async () => {
    const chain = defineType({
      type: 'chain',
      async run(left: number) {
        if (left > 0) await queue.holdfast.enqueue('chain', left - 1)
      },
    })
    await queue.holdfast.enqueue(chain, 5)
    // A parent may come to its end after the child it enqueued: each is run, and in no order.
    expect(payloads((await queue.drain([chain])).completed).sort()).toEqual([0, 1, 2, 3, 4, 5])
  })

  test('leaves jobs of other types alone', async () => {
    await queue.holdfast.enqueue(other, 'untouched')
    await enqueue('works')
    expect(payloads((await queue.drain([ordinary])).jobs)).toEqual(['works'])
    await queue.assertEnqueued(other, 'untouched')
  })

  test('runs one by one, in order, when asked to', async () => {
    let running = 0
    const order: unknown[] = []
    const alone = defineType({
      type: 'alone',
      async run(payload) {
        expect(++running).toBe(1)
        await new Promise((resolve) => setImmediate(resolve))
        order.push(payload)
        running -= 1
      },
    })
    await queue.holdfast.enqueueMany([1, 2, 3, 4, 5].map((n) => alone.job(n)))
    const { completed } = await queue.drain([alone], { concurrency: 1 })
    expect(order).toEqual([1, 2, 3, 4, 5])
    expect(payloads(completed)).toEqual([1, 2, 3, 4, 5])
  })

  test('goes through time until nothing waits, and the clock then shows how long it took', async () => {
    const before = (await queue.clock.now()).getTime()
    for (const payload of ['fails once', 'always fails', 'snoozes']) await enqueue(payload)
    await queue.holdfast.enqueue(ordinary, 'in forty days', { delay: '40d' })
    const report = await queue.drain([ordinary], { throughTime: true })
    expect(payloads(report.completed).sort()).toEqual(['fails once', 'in forty days', 'snoozes'])
    expect(payloads(report.dead)).toEqual(['always fails'])
    expect(await queue.enqueued()).toEqual([])
    expect((await queue.clock.now()).getTime() - before).toBeGreaterThan(40 * 86_400_000)
  })

  test('says what is left when a job puts itself off without end', async () => {
    const restless = defineType({ type: 'restless', run: (_, ctx) => ctx.snooze('10m') })
    await queue.holdfast.enqueue(restless, { why: 'never ready' })
    const drained = queue.drain([restless], { throughTime: true, moves: 5 })
    await expect(drained).rejects.toThrow(
      /after the clock was moved 5 times; what is left:\n {2}restless scheduled, due .*never ready/,
    )
  })

  describe('of a type that is held back', () => {
    const failing = defineType({
      type: 'failing',
      maxAttempts: 2,
      run() {
        throw new Error('down')
      },
    })
    const rated = defineType({ type: 'rated', limits: { rate: { count: 3, per: '1h' } }, run() {} })
    const many = (type: typeof rated | typeof failing, count: number) =>
      queue.holdfast.enqueueMany(Array.from({ length: count }, (_, n) => type.job(n)))
    const gatesOf = ({ left }: DrainReport) => left.map((job) => job.gates.map(({ gate }) => gate))

    test('tells which jobs an open breaker has left, and why', async () => {
      await many(failing, 10)
      const opened = await queue.drain([failing])
      expect(gatesOf(opened)).toEqual(Array.from({ length: 10 }, () => ['retry']))
      await many(failing, 2)
      const { left } = await queue.drain([failing])
      expect(left).toHaveLength(12)
      expect(left.slice(-2)).toMatchObject(
        [0, 1].map((payload) => ({
          payload,
          gates: [{ gate: 'breaker', why: expect.stringContaining('10 of 10 attempts failed') }],
        })),
      )
    })

    test('goes through an open breaker probe by probe, to the end of every job', async () => {
      await many(failing, 12)
      const report = await queue.drain([failing], { throughTime: true })
      expect(report.dead).toHaveLength(12)
      expect(report.left).toEqual([])
    })

    test('leaves what a rate holds back, or moves the clock to its opening', async () => {
      await many(rated, 10)
      const first = await queue.drain([rated])
      expect(first.completed).toHaveLength(3)
      expect(gatesOf(first)).toEqual(Array.from({ length: 7 }, () => ['rate']))
      const rest = await queue.drain([rated], { throughTime: true })
      expect(rest.completed).toHaveLength(7)
      expect(rest.left).toEqual([])
    })

    test('moves the clock to the opening of a rate per key, too', async () => {
      const keyed = defineType({ type: 'keyed', limits: { ratePerKey: { count: 1, per: '1h' } }, run() {} })
      await queue.holdfast.enqueueMany(['a', 'a', 'b', 'b', 'b'].map((key) => keyed.job(key, { concurrencyKey: key })))
      const { completed, left } = await queue.drain([keyed], { throughTime: true })
      expect(completed).toHaveLength(5)
      expect(left).toEqual([])
    })

    test('moves the clock to the opening of what a type uses, and leaves what is paused', async () => {
      const [one, two] = ['one', 'two'].map((type) => defineType({ type, uses: ['stripe'], run() {} })) as [
        typeof other,
        typeof other,
      ]
      await queue.holdfast.registerTypes([one, two], { update: true })
      await queue.holdfast.flow.limitDependency('stripe', { rate: { count: 2, per: '1h' } }, { by: 'ada' })
      await queue.holdfast.enqueueMany([one, two, one, two].map((type) => type.job({} as never)))
      const first = await queue.drain([one, two])
      expect(first.completed).toHaveLength(2)
      expect(gatesOf(first)).toEqual([['dependency_rate'], ['dependency_rate']])
      await queue.holdfast.flow.pauseDependency('stripe', { by: 'ada' })
      expect(gatesOf(await queue.drain([one, two], { throughTime: true }))[0]).toContain('dependency_paused')
      await queue.holdfast.flow.resumeDependency('stripe', { by: 'ada' })
      expect((await queue.drain([one, two], { throughTime: true })).left).toEqual([])
    })

    test('leaves what only a person can let go, and says so in an error when all are to end', async () => {
      await queue.holdfast.registerTypes([other])
      await queue.holdfast.flow.pauseType('other', { by: 'ada', why: 'a look at it' })
      await queue.holdfast.enqueue(other, { number: 7 })
      const { left } = await queue.drain([other], { throughTime: true })
      expect(left).toMatchObject([{ type: 'other', payload: { number: 7 }, gates: [{ gate: 'type_paused' }] }])
      await expect(queue.drain([other], { allMustEnd: true })).rejects.toThrow(
        /drain has left 1 job that has not ended:\n {2}other pending.*number: 7.*\n {4}other was paused by ada \(a look at it\); it opens by resuming other/,
      )
    })

    test('leaves the jobs of a drained lane', async () => {
      await queue.holdfast.enqueue(other, null)
      await queue.holdfast.flow.drainLane('default', { by: 'ada' })
      expect(gatesOf(await queue.drain([other]))).toEqual([['lane_drained']])
    })
  })

  test('says what is left when a handler does not end, and gives the job back', async () => {
    const stuck = defineType({ type: 'stuck', run: () => new Promise(() => {}) })
    const { id } = await queue.holdfast.enqueue(stuck, 'for ever')
    const drained = queue.drain([stuck], { timeout: '500ms' })
    await expect(drained).rejects.toThrow(
      /gives up after 500ms; what is left:\n {2}stuck processing, .*\nwhat stays in processing/,
    )
    expect(await queue.holdfast.job(id)).toMatchObject({ status: 'pending', attempt: 1 })
  })

  test('keeps a job in its hands though its handler moves the clock by weeks', async () => {
    let runs = 0
    const traveller = defineType({
      type: 'traveller',
      async run() {
        runs += 1
        await queue.clock.advance('14d')
        // What any other worker would do within seconds.
        expect(await insideOf(queue.holdfast).store.leases.rescue({ leases: 10, jobs: 1_000 })).toEqual([])
      },
    })
    const { id } = await queue.holdfast.enqueue(traveller, null)
    await queue.drain([traveller])
    expect(runs).toBe(1)
    expect((await queue.holdfast.job(id))?.attempts.map((attempt) => attempt.outcome)).toEqual(['completed'])
  })

  test('drains thousands of jobs in moments', async () => {
    await queue.holdfast.enqueueMany(Array.from({ length: 5_000 }, (_, n) => other.job(n)))
    const { completed } = await queue.drain([other], { concurrency: 100 })
    expect(new Set(payloads(completed)).size).toBe(5_000)
  })

  test('wants types that can be run', async () => {
    const declared = defineType({ type: 'declared' })
    await expect(queue.drain([declared])).rejects.toMatchObject({ code: 'missing_handler' })
  })
})
