import { defineType, Holdfast } from 'holdfast'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

const who = { by: 'ada', why: 'because', from: '10.0.0.7' }
const signed = { actor: 'ada', origin: '10.0.0.7', why: 'because' }
const email = defineType({ type: 'send_email' })
let scratch: ScratchDatabase
let holdfast: Holdfast
let sql: pg.Client

beforeEach(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  holdfast = new Holdfast({ connectionString: scratch.connectionString })
  sql = new pg.Client({ connectionString: scratch.connectionString })
  await sql.connect()
  await holdfast.registerTypes([email])
})
afterEach(async () => {
  await sql.end()
  await holdfast.close()
  await scratch.drop()
})

const later = () => holdfast.enqueue(email, {}, { delay: '1h' })
const asking = () => holdfast.enqueue(email, {}, { approval: { quorum: 2 } })

describe('the audit log', () => {
  // Each does one thing and names the line it must leave.
  const doings: [string, () => Promise<object>][] = [
    ['pause_type', async () => {
      await holdfast.flow.pauseType('send_email', who)
      return { target: 'send_email', before: { paused_by: null }, after: { paused_by: 'ada', paused_why: 'because' } }
    }],
    ['resume_type', async () => {
      await holdfast.flow.pauseType('send_email', { by: 'bob' })
      await holdfast.flow.resumeType('send_email', who)
      return { target: 'send_email', before: { paused_by: 'bob' }, after: { paused_by: null } }
    }],
    ['pause_key', async () => {
      await holdfast.flow.pauseKey('send_email', 'tenant 7', who)
      return { target: 'send_email tenant 7', before: null, after: { paused_by: 'ada' } }
    }],
    ['resume_key', async () => {
      await holdfast.flow.pauseKey('send_email', 'tenant 7', { by: 'bob' })
      await holdfast.flow.resumeKey('send_email', 'tenant 7', who)
      return { target: 'send_email tenant 7', before: { paused_by: 'bob' }, after: { paused_by: null } }
    }],
    ['set_weight', async () => {
      await holdfast.flow.setWeight('send_email', 'tenant 7', 4, who)
      return { target: 'send_email tenant 7', after: { weight: 4 } }
    }],
    ['set_limits', async () => {
      await holdfast.flow.limit('send_email', { maxRunning: 4 }, who)
      return { target: 'send_email', before: { max_running: null }, after: { max_running: 4 } }
    }],
    ['breaker_hold_open', async () => {
      await holdfast.flow.breaker('send_email', 'hold_open', who)
      return { target: 'send_email', before: { breaker_hold: 'auto' }, after: { breaker_hold: 'open' } }
    }],
    ['set_lane', async () => {
      await holdfast.flow.setLane('interactive', { slots: 9 }, who)
      return { target: 'interactive', before: { slots: 2 }, after: { slots: 9 } }
    }],
    ['move_type', async () => {
      await holdfast.flow.moveType('send_email', 'system', who)
      return { target: 'send_email', before: { lane: 'default' }, after: { lane: 'system' } }
    }],
    ['limit_depth', async () => {
      await holdfast.flow.limitDepth('queue', { hard: 10 }, who)
      return { target: 'queue', before: { soft: 100_000, hard: 500_000 }, after: { soft: null, hard: 10 } }
    }],
    ['cancel_job', async () => {
      const { id } = await later()
      await holdfast.cancel(id, who)
      return { target: id, before: { status: 'scheduled' }, after: { status: 'cancelled' } }
    }],
    ['set_priority_job', async () => {
      const { id } = await later()
      await holdfast.setPriority(id, 9, who)
      return { target: id, before: { priority: 5 }, after: { priority: 9 } }
    }],
    ['reschedule_job', async () => {
      const { id } = await later()
      await holdfast.reschedule(id, { runAt: new Date('2099-01-01T00:00:00Z') }, who)
      return { target: id, after: { due_at: expect.stringContaining('2099-01-01') } }
    }],
    ['run_now_job', async () => {
      const { id } = await later()
      await holdfast.runNow(id, who)
      return { target: id, before: { status: 'scheduled' }, after: { status: 'pending' } }
    }],
    ['approve_job', async () => {
      const { id } = await asking()
      await holdfast.approve(id, who)
      return { target: id, before: { approvals: 0 }, after: { approvals: 1 } }
    }],
    ['reject_job', async () => {
      const { id } = await asking()
      await holdfast.reject(id, who)
      return { target: id, before: { status: 'awaiting_approval' }, after: { status: 'cancelled' } }
    }],
    ['cancel_jobs', async () => {
      const jobs = [(await later()).id, (await later()).id]
      await holdfast.cancelMany({ type: 'send_email' }, who)
      return { target: '2 jobs', before: null, after: { jobs } }
    }],
    ['resume_job', async () => {
      const { id } = await later()
      await holdfast.cancel(id, { by: 'bob', why: 'a mistake' })
      await holdfast.resume(id, who)
      const before = { status: 'cancelled', cancelled_by: 'bob', cancelled_why: 'a mistake' }
      return { target: id, before, after: { status: 'scheduled' } }
    }],
    ['forget_job', async () => {
      const { id } = await later()
      await holdfast.cancel(id, { by: 'bob' })
      await holdfast.forget(id, who)
      return { target: id, before: { type: 'send_email', status: 'cancelled' }, after: null }
    }],
    ['drain_worker', async () => {
      const worker = `insert into holdfast.workers (name, host, pid, version, types, token_hash)
                      values ('w', 'h', 1, 'v', '{}', sha256('x')) returning id`
      const { id } = (await sql.query(worker)).rows[0]
      await holdfast.flow.drainWorker(id, who)
      return { target: String(id), before: null, after: null }
    }],
    ['resume_worker', async () => {
      const worker = `insert into holdfast.workers (name, host, pid, version, drain_asked_at, drain_asked_by)
                      values ('w', 'h', 1, 'v', holdfast.now(), 'bob') returning id`
      const { id } = (await sql.query(worker)).rows[0]
      await holdfast.flow.resumeWorker(id, who)
      return { target: String(id), before: null, after: null }
    }],
    ['set_role', async () => {
      await holdfast.access.setRole('mine', ['jobs:read'], who)
      return { target: 'mine', before: null, after: { permissions: ['jobs:read'] } }
    }],
  ] // biome-ignore format: a table

  test.each(doings)('tells of %s: who, from where, what, before and after, why', async (action, act) => {
    const expected = await act()
    expect(await holdfast.audit({ actor: 'ada' })).toMatchObject([{ action, ...signed, ...expected, at: expect.any(Date) }])
  })

  test('says nothing of what changed nothing, and nothing of a worker’s own definitions', async () => {
    const limited = defineType({ type: 'send_email', limits: { maxRunning: 2 }, run() {} })
    await holdfast.registerTypes([limited], { update: true })
    const { id } = await later()
    await holdfast.cancel(id, who)
    await holdfast.cancel(id, who)
    await holdfast.flow.setLane('interactive', { slots: 2 }, who)
    expect(await holdfast.audit()).toMatchObject([{ action: 'cancel_job' }])
  })

  test('from SQL has the one who was named, or else the database’s user', async () => {
    await sql.query("select holdfast.pause_type('send_email', holdfast.actor('grace'))")
    await sql.query("select holdfast.resume_type('send_email', null)")
    await sql.query("select holdfast.pause_type('send_email', holdfast.actor('grace', 'from psql'))")
    const user = (await sql.query('select session_user as name')).rows[0].name
    expect(await holdfast.audit()).toMatchObject([
      { action: 'pause_type', actor: 'grace', origin: null, why: 'from psql' },
      { action: 'resume_type', actor: user, origin: null, why: null },
      { action: 'pause_type', actor: 'grace' },
    ])
  })

  test('is written in the transaction of the action: what is rolled back was never done', async () => {
    await sql.query('begin')
    await sql.query("select holdfast.pause_type('send_email', holdfast.actor('grace'))")
    await sql.query('rollback')
    expect(await holdfast.audit()).toEqual([])
    // And the other way round: where the line cannot be written, the action does not happen.
    await sql.query("alter table holdfast.audit_log add constraint nobody check (actor <> 'grace')")
    await expect(holdfast.flow.pauseType('send_email', { by: 'grace' })).rejects.toThrow()
    expect((await holdfast.flow.gate('send_email'))?.paused ?? null).toBeNull()
  })

  test('does not carry where one caller came from over to the next on the same connection', async () => {
    const single = new Holdfast({ connectionString: scratch.connectionString, connections: 1 })
    await single.flow.pauseType('send_email', who)
    await single.flow.resumeType('send_email', { by: 'bob' })
    await single.close()
    expect(await holdfast.audit()).toMatchObject([
      { actor: 'bob', origin: null },
      { actor: 'ada', origin: '10.0.0.7' },
    ])
  })

  test.each(["update holdfast.audit_log set actor = 'eve'", 'delete from holdfast.audit_log', 'truncate holdfast.audit_log'])(
    'refuses %s',
    async (statement) => {
      await holdfast.flow.pauseType('send_email', who)
      await expect(sql.query(statement)).rejects.toThrow('lines of the audit log cannot be changed or deleted')
      expect(await holdfast.audit()).toHaveLength(1)
    },
  )

  test('is the latest first and loses no line between pages, past the tenth and the hundredth line too', async () => {
    for (let weight = 1; weight <= 12; weight++) await holdfast.flow.setWeight('send_email', 'tenant 7', weight, who)
    await sql.query("select setval('holdfast.audit_log_id_seq', 95)")
    for (let weight = 13; weight <= 24; weight++) await holdfast.flow.setWeight('send_email', 'tenant 7', weight, who)
    const read: unknown[] = []
    for (let before: string | undefined; ; ) {
      const lines = await holdfast.audit({ action: 'set_weight', limit: 5, ...(before === undefined ? {} : { before }) })
      read.push(...lines.map(({ after }) => after?.weight))
      before = lines.at(-1)?.id
      if (before === undefined) break
    }
    expect(read).toEqual(Array.from({ length: 24 }, (_, n) => 24 - n))
  })

  test('is read in pages, by actor, action and target', async () => {
    for (let slots = 3; slots < 8; slots++)
      await holdfast.flow.setLane('interactive', { slots }, { by: slots % 2 ? 'ada' : 'bob' })
    const first = await holdfast.audit({ target: 'interactive', limit: 2 })
    const second = await holdfast.audit({ target: 'interactive', limit: 2, before: first[1]?.id as string })
    expect([...first, ...second].map(({ after }) => after)).toEqual([{ slots: 7 }, { slots: 6 }, { slots: 5 }, { slots: 4 }])
    expect(await holdfast.audit({ actor: 'bob', action: 'set_lane' })).toHaveLength(2)
    await expect(holdfast.audit({ before: '-1' })).rejects.toMatchObject({ code: 'invalid_option' })
  })
})
