import { defineType, defineWorkflow, type RunContext } from 'holdfast'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { type FreshQueue, freshQueue } from '../support/workflows.js'

const who = { by: 'ada', why: 'it cannot succeed' }
let queue: FreshQueue
let ran: string[]
let release: () => void
let held: Promise<void>

const job = defineType({
  type: 'hopeless',
  backoff: { base: '1h', cap: '1h', jitter: 0 },
  async run(payload, ctx: RunContext) {
    const { name } = payload as { name: string }
    ran.push(name)
    if (name === 'fails' && ctx.job.attempt === 1 && ran.filter((one) => one === name).length === 1) throw new Error('once')
    if (name === 'waits') await ctx.waitFor('go')
    if (name === 'long') await held
  },
})

beforeAll(async () => {
  queue = await freshQueue([], {}, afterAll)
  await queue.holdfast.registerTypes([job])
})
beforeEach(() => {
  ran = []
  held = new Promise((resolve) => {
    release = resolve
  })
})

const statusOf = async (id: string) => (await queue.holdfast.job(id))?.status
const becomes = (id: string, status: string) => eventually(async () => (await statusOf(id)) === status)
const enqueue = async (name: string, options: object = {}) => (await queue.holdfast.enqueue(job, { name }, options)).id
const noDrift = async () => expect(await queue.sql('select * from holdfast.find_drift()')).toEqual([])

/** Started when the first test needs it: until then what is due stays where it is. */
let started: Promise<unknown> | undefined
const working = () => (started ??= queue.work([job]))

/** A job in each place it can wait in, with its status there. */
const places: Record<string, () => Promise<[id: string, status: string]>> = {
  due: async () => [await enqueue('due'), 'pending'],
  scheduled: async () => [await enqueue('later', { delay: '1h' }), 'scheduled'],
  'before a gate': async () => {
    await queue.holdfast.flow.pauseType('hopeless', who)
    return [await enqueue('gated'), 'pending']
  },
  'waiting for approval': async () => [await enqueue('asks', { approval: true }), 'awaiting_approval'],
  'behind another job': async () => {
    await working()
    await becomes(await enqueue('long', { unique: { key: 'u' } }), 'processing')
    return [await enqueue('behind', { unique: { key: 'u', onConflict: 'one_more' } }), 'blocked']
  },
  'waiting for a signal': async () => {
    await working()
    const id = await enqueue('waits')
    await becomes(id, 'blocked')
    return [id, 'blocked']
  },
  'between two attempts': async () => {
    await working()
    const id = await enqueue('fails')
    await becomes(id, 'failed')
    return [id, 'failed']
  },
}

describe('burying', () => {
  test.each(Object.entries(places))('makes a dead letter of a job that is %s, once, and a replay revives it', async (_, put) => {
    const { holdfast } = queue
    const [id, was] = await put()
    expect(await holdfast.bury(id, who)).toEqual({ id, done: true, was, status: 'dead' })
    expect(await holdfast.deadLetters.get(id)).toMatchObject({
      reason: 'buried',
      attempt: 1,
      error: { name: 'Buried', message: 'buried by ada: it cannot succeed', by: 'ada', why: 'it cannot succeed' },
      changes: [{ move: 'bury', by: 'ada', why: 'it cannot succeed', before: { attempt: was === 'failed' ? 2 : 1 } }],
    })
    expect(await holdfast.audit({ action: 'bury_job', limit: 1 })).toMatchObject([
      { actor: 'ada', target: id, before: { status: was }, after: { status: 'dead' } },
    ])
    expect(await holdfast.bury(id, who)).toEqual({
      ...{ id, done: false, was: 'dead', status: 'dead', because: 'it is dead; it can be replayed or discarded' },
    })
    await noDrift()

    release()
    const { status } = await holdfast.deadLetters.replay(id, who)
    if (status === 'awaiting_approval') await holdfast.approve(id, { by: 'bob' })
    await holdfast.flow.resumeType('hopeless', who)
    await working()
    if (ran.includes('waits')) await holdfast.signal(id, 'go')
    await becomes(id, 'completed')
  })

  test('is refused while the job runs, and when it has ended', async () => {
    const { holdfast } = queue
    await working()
    const id = await enqueue('long')
    await becomes(id, 'processing')
    const because = 'it runs; cancel it, or bury it when its attempt has ended'
    expect(await holdfast.bury(id, who)).toEqual({ id, done: false, was: 'processing', status: 'processing', because })
    release()
    await becomes(id, 'completed')
    expect(await holdfast.bury(id, who)).toMatchObject({ done: false, because: 'it has already completed' })
    expect(await holdfast.audit({ target: id })).toEqual([])
  })

  test('counts as a death: batches and workflows fail, the type reacts, and an ordered key halts', async () => {
    const { holdfast } = queue
    const noticed: unknown[] = []
    const notice = defineType({ type: 'notice', run: (payload) => void noticed.push(payload) })
    const called = defineType({ type: 'called', run: () => void ran.push('called') })
    const mourned = defineType({
      ...{ type: 'mourned', limits: { ordered: true, haltOnDead: true }, onDead: { enqueue: notice } },
      run: (payload) => void ran.push(`mourned ${(payload as { n: number }).n}`),
    })
    const flow = defineWorkflow({ name: 'flow', tasks: (task) => task('one', { run: () => ran.push('task') }) })
    await holdfast.registerTypes([notice, called, mourned, ...flow.types], { update: true })

    const execution = await holdfast.start(flow, null)
    const task = (await queue.sql('select job_id from holdfast.members'))[0]?.job_id
    const batch = await holdfast.batch({ jobs: [job.job({ name: 'member' }, { delay: '1h' })], onFailure: called.job({}) })
    const member = (await queue.sql('select job_id from holdfast.members where group_id = $1', [batch.id]))[0]?.job_id
    const keyed = [1, 2].map((n) => mourned.job({ n }, { concurrencyKey: 'k' }))
    const [halts, next] = (await holdfast.enqueueMany(keyed)).map(({ id }) => id) as [string, string]
    for (const id of [task, member, halts]) expect(await holdfast.bury(id, who)).toMatchObject({ done: true, status: 'dead' })

    await queue.work([notice, called, mourned, flow])
    await eventually(() => ran.includes('called') && noticed.length === 1)
    expect(await holdfast.batches.get(batch.id)).toMatchObject({ status: 'failed', dead: 1 })
    await eventually(async () => (await holdfast.executions.get(execution.id))?.status === 'failed')
    expect(noticed).toMatchObject([{ job: halts, type: 'mourned', reason: 'buried', error: { name: 'Buried' } }])
    expect(await holdfast.explain(next)).toMatchObject({ gates: [{ gate: 'key_halted', heldBy: [halts] }] })
    await holdfast.deadLetters.discard(halts, who)
    await becomes(next, 'completed')
    expect(ran).toEqual(['called', 'mourned 2'])
  })

  test('holds no job while an operator changes limits, who holds the gate and waits for jobs', async () => {
    const id = await enqueue('later', { delay: '1h' })
    const operator = await queue.connect()
    await operator.query('begin')
    await operator.query('select pg_advisory_xact_lock(holdfast.settles_lock())')
    const burial = queue.holdfast.bury(id, who)
    // A worker's chores may wait for that lock too.
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%bury_jobs%'`
    await eventually(async () => (await queue.sql(waiting)).length === 1)
    expect((await operator.query('select from holdfast.waiting where job_id = $1 for update nowait', [id])).rowCount).toBe(1)
    await operator.query('commit')
    expect(await burial).toMatchObject({ done: true, status: 'dead' })
  })

  test('beside a full load every job ends once, completed or buried', async () => {
    const { holdfast } = queue
    const jobs = Array.from({ length: 400 }, (_, n) => job.job({ name: `${n}` }, { concurrencyKey: `${n % 20}` }))
    const ids = (await holdfast.enqueueMany(jobs)).map(({ id }) => id)
    await working()
    const odd = ids.filter((_, n) => n % 2 === 1)
    // Three at a time: one of the four connections is left to the other operator.
    const bury = async () => {
      const done: boolean[] = []
      for (let id = odd.pop(); id !== undefined; id = odd.pop()) done.push((await holdfast.bury(id, who)).done)
      return done
    }
    const burials = Promise.all([bury(), bury(), bury()])
    // Whoever puts keys in order locks every job that waits.
    for (const ordered of [true, false, true]) await holdfast.flow.limit('hopeless', { ordered, haltOnDead: false }, who)
    const buried = (await burials).flat().filter((done) => done).length
    await eventually(async () => (await queue.sql('select from holdfast.live where job_id = any ($1)', [ids])).length === 0)
    const counted = 'select status, count(*)::int from holdfast.jobs where id = any ($1) group by status order by status'
    const ended = await queue.sql(counted, [ids])
    const expected = [
      { status: 'completed', count: 400 - buried },
      { status: 'dead', count: buried },
    ]
    expect(ended).toEqual(expected.filter(({ count }) => count > 0))
    expect(new Set(ran).size).toBe(400 - buried)
    await noDrift()
  })
})
