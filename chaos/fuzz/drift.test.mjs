import { makeScratchDatabase } from 'holdfast/testing'
import pg from 'pg'
import { afterAll, expect, inject, test } from 'vitest'
import { Books } from './books.mjs'
import { driftNow, leftOver } from './drift.mjs'
import { overLimits } from './measured.mjs'

const scratch = await makeScratchDatabase(inject('testUrl'))
const pool = new pg.Pool({ connectionString: scratch.connectionString, max: 1 })
const sql = async (text) => (await pool.query(text)).rows
afterAll(async () => {
  await pool.end()
  await scratch.drop()
})

const job = '01900000-0000-7000-8000-000000000001'
const type = `(select id from holdfast.types where name = 'mail')`

/** Runs a statement, asks, and takes it back. */
async function having(statements, ask) {
  await sql('begin')
  try {
    await sql(`insert into holdfast.types (name, lane_id) values ('mail', 1)`)
    for (const statement of statements) await sql(statement)
    return await ask(sql)
  } finally {
    await sql('rollback')
  }
}

const body = `insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, concurrency_key, payload) values ('${job}', ${type}, 5, 5, now(), 'ada', '{}')`
const queued = (pass, lease = 'null', key = 'ada') =>
  `insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt, pass, concurrency_key, lease_id) values (now(), '${job}', ${type}, 1, 5, 1, ${pass}, '${key}', ${lease})`
const waiting = `insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status) values ('${job}', now(), ${type}, 1, 5, 1, 'scheduled')`
const laneSlot = `insert into holdfast.lane_slots (job_id, lane_id) values ('${job}', 1)`

test('drift is seen: of a job that is nowhere or twice, of slots without their job and jobs without their slot', async () => {
  const cases = {
    'a job stands nowhere': [body],
    'a job stands in two places': [body, queued(0), waiting],
    'a job has no body': [queued(0)],
    'a job runs through a gate under a lease that the gate does not count': [body, queued(1, 7)],
    'a job stands before its gate under another key than it has': [body, queued(1, 'null', 'bob')],
    'a slot of a lane is held by no job that runs there': [laneSlot],
    'a job runs in a lane with slots and holds none': [body, queued(0, 7), 'update holdfast.lanes set slots = 2'],
    'a job runs under a lease that does not name it': [body, queued(0, 7)],
    'an idempotency key names a job that was never stored': [`insert into holdfast.idempotency_keys (type_id, owner, key, job_id) values (${type}, '', 'k', '${job}')`],
    'a unique key names a job that was never stored': [`insert into holdfast.uniques (type_id, owner, key, job_id, taken_at, kept_until) values (${type}, '', 'k', '${job}', now(), now())`],
  } // biome-ignore format: what is put in beside what is said
  for (const [sentence, statements] of Object.entries(cases))
    expect((await having(statements, driftNow)).join('\n'), sentence).toContain(sentence)
  expect(await having([body, queued(1)], driftNow)).toEqual([])
})

test('what is left over at rest is named by its table', async () => {
  expect(await having([], leftOver)).toEqual([])
  expect(await having([laneSlot], leftOver)).toEqual([`left over in lane_slots: ${job}`])
})

/** Books in which these things happened, a second apart from each other where nothing else is said. */
function books(entries, settings = []) {
  const made = new Books()
  for (const { scope, value } of settings) made.changing(scope, value)()
  for (const entry of entries) made.note({ job: 'j', attempt: 1, fence: '1', pid: 1, worker: 'w1', type: 'mail', ...entry })
  return made
}

test('handlers are held against the limit that was in force for long enough', () => {
  const far = { at: performance.now() + 1e12 }
  const two = [
    { kind: 'start', job: 'a', ...far },
    { kind: 'start', job: 'b', fence: '2', ...far },
  ]
  const limit = [{ scope: 'max_running mail', value: 1 }]
  expect(overLimits(books(two, limit), []).join()).toContain('2 handlers of mail ran at once, and 1 may')
  expect(overLimits(books(two), [])).toEqual([])
  // A handler that has lost its lease does not count.
  expect(overLimits(books(two, limit), [{ job: 'a', attempt: 1, outcome: 'lease_expired' }])).toEqual([])
  // What starts right after a limit was set may have been claimed before.
  const soon = two.map(({ at: _, ...entry }) => entry)
  expect(overLimits(books(soon, limit), [])).toEqual([])
  expect(overLimits(books(two, [{ scope: 'paused mail', value: true }]), []).join()).toContain('although its type is paused')
})
