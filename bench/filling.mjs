// Databases that look as after weeks of use, made by SQL because nobody has the weeks.

/** The number tells them apart, the time says which day they belong to. */
const newIds = (first, jobs) => `
  select (substr(holdfast.first_id_at(holdfast.now())::text, 1, 13) || '-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid as id, n
  from generate_series(${first}, ${first + jobs - 1}) as n`
const payload = `json_build_object('text', repeat('x', 189))::json`

/** Jobs that are due and jobs that are not, half and half. */
export async function fillBacklog(client, jobs) {
  await client.query(`
    with ids as materialized (${newIds(1, jobs)}), stored as (
      insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, run_at, payload)
      select ids.id, t.id, 5, 5, holdfast.now(), case when n % 2 = 0 then holdfast.now() + interval '1 day' end, ${payload}
      from ids, holdfast.types as t where t.name = 'bench'
    ), later as (
      insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status)
      select ids.id, holdfast.now() + interval '1 day' + n * interval '1 millisecond', t.id, t.lane_id, 5, 1, 'scheduled'
      from ids, holdfast.types as t where t.name = 'bench' and n % 2 = 0
    )
    insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt)
    select holdfast.now(), ids.id, t.id, t.lane_id, 5, 1 from ids, holdfast.types as t where t.name = 'bench' and n % 2 = 1 order by n`)
  await client.query('analyze')
}

/** Jobs that are all due in that many seconds, at the very same moment. Answers with that moment, in milliseconds from now. */
export async function fillDue(client, jobs, seconds) {
  const { rows } = await client.query("select (holdfast.now() + $1 * interval '1 second')::text as due", [seconds])
  const due = `'${rows[0].due}'::timestamptz`
  await inParts(jobs, (first, count) =>
    client.query(`
      with ids as materialized (${newIds(first, count)}), stored as (
        insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, run_at, payload)
        select ids.id, t.id, 5, 5, holdfast.now(), ${due}, ${payload} from ids, holdfast.types as t where t.name = 'bench'
      )
      insert into holdfast.waiting (job_id, due_at, type_id, lane_id, priority, attempt, status)
      select ids.id, ${due}, t.id, t.lane_id, 5, 1, 'scheduled' from ids, holdfast.types as t where t.name = 'bench'`),
  )
  await client.query('vacuum analyze')
  return untilDue(client, due)
}

/** Jobs that have failed once are all due again in that many seconds. */
export async function makeDue(client, seconds) {
  const { rows } = await client.query("select (holdfast.now() + $1 * interval '1 second')::text as due", [seconds])
  await client.query(`update holdfast.waiting set due_at = '${rows[0].due}'`)
  await client.query('vacuum analyze')
  return untilDue(client, `'${rows[0].due}'::timestamptz`)
}

async function untilDue(client, due) {
  const { rows } = await client.query(`select 1000 * extract(epoch from ${due} - holdfast.now())::float8 as ms`)
  if (rows[0].ms < 1_000) throw new Error('the jobs became due before they were all stored: the machine is too busy')
  return rows[0].ms
}

/** Jobs of one type that are free to run, first in line before whatever comes after. */
export async function fillQueue(client, type, jobs) {
  await inParts(jobs, (first, count) =>
    client.query(`
      with ids as materialized (${newIds(first, count)}), stored as (${storeBodies(type)})
      insert into holdfast.queue (ready_at, job_id, type_id, lane_id, priority, attempt)
      select holdfast.now(), ids.id, t.id, t.lane_id, 5, 1 from ids, holdfast.types as t where t.name = '${type}' order by n`),
  )
  await client.query('vacuum analyze')
}

/** Jobs that stand before the gate of their type, evenly over that many keys; without keys, of none. */
export async function fillGated(client, type, jobs, { keys = 0 } = {}) {
  const key = keys > 0 ? `'key ' || n % ${keys}` : 'null'
  await inParts(jobs, (first, count) =>
    client.query(`
      with ids as materialized (${newIds(first, count)}), stored as (${storeBodies(type, key)})
      insert into holdfast.queue (seq, ready_at, job_id, type_id, lane_id, priority, attempt, pass, concurrency_key)
      select holdfast.gate_position(holdfast.now(), 5, l.ageing), holdfast.now(), ids.id, t.id, t.lane_id, 5, 1, 1, coalesce(${key}, '')
      from ids, holdfast.types as t join holdfast.lanes as l on l.id = t.lane_id where t.name = '${type}'`),
  )
  await client.query('vacuum analyze')
}

const storeBodies = (type, key = 'null') => `
  insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, concurrency_key, payload)
  select ids.id, t.id, 5, 5, holdfast.now(), ${key}, ${payload} from ids, holdfast.types as t where t.name = '${type}'`

/** A statement at a time, so that none is longer than a statement may take. */
async function inParts(jobs, write) {
  const eachTime = 500_000
  for (let done = 0; done < jobs; done += eachTime) await write(done + 1, Math.min(eachTime, jobs - done))
}

/** Jobs that have completed today. */
export async function fillHistory(client, jobs) {
  await inParts(jobs, (first, count) =>
    client.query(`
      with ids as materialized (${newIds(first, count)}), stored as (${storeBodies('bench')})
      insert into holdfast.history (job_id, ended_at, started_at, worker_id, outcome, attempt)
      select id, holdfast.now(), holdfast.now(), 1, 'completed', 1 from ids`),
  )
  await client.query('vacuum analyze')
}
