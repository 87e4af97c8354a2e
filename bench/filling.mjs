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

/** Jobs that have completed today. */
export async function fillHistory(client, jobs) {
  const eachTime = 500_000
  for (let done = 0; done < jobs; done += eachTime) {
    const count = Math.min(eachTime, jobs - done)
    await client.query(`
      with ids as materialized (${newIds(done + 1, count)}), stored as (
        insert into holdfast.bodies (id, type_id, priority, max_attempts, created_at, payload)
        select ids.id, t.id, 5, 5, holdfast.now(), ${payload} from ids, holdfast.types as t where t.name = 'bench'
      )
      insert into holdfast.history (job_id, ended_at, started_at, worker_id, outcome, attempt)
      select id, holdfast.now(), holdfast.now(), 1, 'completed', 1 from ids`)
  }
  await client.query('vacuum analyze')
}
