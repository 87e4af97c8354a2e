// What has to hold in every snapshot of the database, recomputed from the jobs themselves. Independent of the product's own functions.

/** Where jobs stand. A body is in one of these places, always: what moves it is one transaction. */
const places = `
  places as (
    select job_id, 'queue' as place from holdfast.queue union all select job_id, 'waiting' from holdfast.waiting
    union all select job_id, 'following' from holdfast.following
    union all select job_id, 'dead_letters' from holdfast.dead_letters
    union all select job_id, outcome::text from holdfast.history where outcome in ('completed', 'cancelled', 'discarded')
  )`

const rules = [
  [
    'a job stands in two places',
    `select job_id, string_agg(place, ' and ' order by place) as more from places group by job_id having count(*) > 1`,
  ],
  [
    'a job stands nowhere',
    `select b.id as job_id, t.name as more from holdfast.bodies as b join holdfast.types as t on t.id = b.type_id
     where not exists (select from places as p where p.job_id = b.id)`,
  ],
  [
    'a job has no body',
    `select p.job_id, p.place as more from places as p where not exists (select from holdfast.bodies as b where b.id = p.job_id)`,
  ],
  [
    'a job runs through a gate under a lease that the gate does not count',
    `select q.job_id, 'lease ' || q.lease_id as more from holdfast.queue as q
     where q.pass > 0 and q.lease_id is not null
       and not exists (select from holdfast.gate_leases as g where g.type_id = q.type_id and g.lease_id = q.lease_id)`,
  ],
  [
    'a job stands before its gate under another key than it has',
    `select q.job_id, format('stands under "%s", has "%s"', q.concurrency_key, b.concurrency_key) as more
     from holdfast.queue as q join holdfast.bodies as b on b.id = q.job_id
     where q.pass > 0 and q.concurrency_key <> coalesce(b.concurrency_key, '')`,
  ],
  [
    'a slot of a lane is held by no job that runs there',
    `select s.job_id, l.name as more from holdfast.lane_slots as s join holdfast.lanes as l on l.id = s.lane_id
     where not exists (select from holdfast.queue as q where q.job_id = s.job_id and q.lease_id is not null and q.lane_id = s.lane_id)
       and not exists (select from holdfast.cancellations as c where c.job_id = s.job_id)`,
  ],
  [
    'a job runs in a lane with slots and holds none',
    `select q.job_id, l.name as more from holdfast.queue as q join holdfast.lanes as l on l.id = q.lane_id
     where q.lease_id is not null and l.slots is not null
       and not exists (select from holdfast.lane_slots as s where s.job_id = q.job_id)`,
  ],
  [
    'a job runs under a lease that does not name it',
    `select q.job_id, 'lease ' || q.lease_id as more from holdfast.queue as q
     where q.lease_id is not null
       and not exists (select from holdfast.leases as e where e.id = q.lease_id and q.job_id = any (e.jobs))`,
  ],
  [
    'an idempotency key names a job that was never stored',
    `select i.job_id, i.key as more from holdfast.idempotency_keys as i
     where not exists (select from holdfast.bodies as b where b.id = i.job_id)
       and not exists (select from holdfast.audit_log as a where a.action = 'forget_job' and a.target = i.job_id::text)`,
  ],
  [
    'a unique key names a job that was never stored',
    `select n.job_id, u.key as more from holdfast.uniques as u, unnest(array[u.job_id, u.next_job_id]) as n (job_id)
     where n.job_id is not null and not exists (select from holdfast.bodies as b where b.id = n.job_id)
       and not exists (select from holdfast.audit_log as a where a.action = 'forget_job' and a.target = n.job_id::text)`,
  ],
  [
    'a request for approval has no job',
    `select r.job_id, '' as more from holdfast.approval_requests as r
     where not exists (select from holdfast.bodies as b where b.id = r.job_id)`,
  ],
]

/** One statement, so that all of it is one snapshot. */
const inEverySnapshot = `with ${places} ${rules
  .map(([what, rule], at) => `select '${what}' as what, r${at}.job_id::text as job, r${at}.more from (${rule}) as r${at}`)
  .join('\n union all ')} limit 20`

/** Sentences about what does not hold right now. */
export async function driftNow(sql) {
  return (await sql(inEverySnapshot)).map(({ what, job, more }) => `${what}: job ${job}${more ? ` (${more})` : ''}`)
}

/** What the product says of itself: what disagrees, and what it has found and repaired meanwhile. Both should be nothing. */
export async function driftByItself(sql) {
  const rows = await sql(`
    select what, count(*) as times from holdfast.find_drift() group by what
    union all select 'repaired: ' || what, total from holdfast.drift_repairs where total > 0`)
  return rows.map(({ what, times }) => `the product itself found drift: ${what}, ${times} times`)
}

/** What nothing may be left of once every job has ended and every worker has stopped. */
const atRest = `
  select 'queue' as where, job_id::text as what from holdfast.queue
  union all select 'waiting', job_id::text from holdfast.waiting
  union all select 'following', job_id::text from holdfast.following
  union all select 'lane_slots', job_id::text from holdfast.lane_slots
  union all select 'cancellations', job_id::text from holdfast.cancellations
  union all select 'set_aside', format('%s of %s: %s', duty, of, error) from holdfast.set_aside
  union all select 'leases with a job', id::text from holdfast.leases as e
    where exists (select from holdfast.queue as q where q.lease_id = e.id)
  limit 20`

export async function leftOver(sql) {
  return (await sql(atRest)).map(({ where, what }) => `left over in ${where}: ${what}`)
}

/**
 * Counters beside what they count, by type. Jobs that were forgotten are still counted, and nothing else is left of them: those who
 * call add them. A job that was replayed has died before, and one that was resumed was cancelled; it lives or has ended since.
 */
const counted = `
  select t.name as type,
    jsonb_build_object('completed', c.completed, 'failed', c.failed, 'lost', c.lost, 'dead', c.dead - c.replayed, 'cancelled', c.cancelled - c.resumed,
      'enqueued', e.total, 'running', e.running, 'waiting', coalesce(d.waiting, 0)) as says,
    jsonb_build_object(
      'completed', count(h.*) filter (where h.outcome = 'completed'),
      'failed', count(h.*) filter (where h.outcome in ('failed', 'timed_out', 'out_of_memory', 'crashed')),
      'lost', count(h.*) filter (where h.outcome = 'lease_expired'),
      'dead', count(h.*) filter (where h.outcome = 'discarded')
        + (select count(*) from holdfast.dead_letters as l where l.type_id = t.id),
      'cancelled', count(h.*) filter (where h.outcome = 'cancelled'),
      'enqueued', (select count(*) from holdfast.bodies as b where b.type_id = t.id), 'running', 0, 'waiting', 0) as is
  from holdfast.types as t join holdfast.counters as c on c.type_id = t.id
  left join holdfast.enqueued as e on e.type_id = t.id
  left join (select type_id, sum(waiting + scheduled) as waiting from holdfast.depths group by type_id) as d on d.type_id = t.id
  left join holdfast.bodies as b on b.type_id = t.id
  left join holdfast.history as h on h.job_id = b.id
  where exists (select from holdfast.bodies as b where b.type_id = t.id)
  group by t.id, t.name, c.completed, c.failed, c.lost, c.dead, c.replayed, c.cancelled, c.resumed, e.total, e.running, d.waiting`

/** @param {Set<string>} forgotten types of which jobs were forgotten: their history is gone, so there is nothing to count */
export async function countersOff(sql, forgotten) {
  await sql(`update holdfast.depths_measured set measured_at = '-infinity'`)
  await sql('select holdfast.measure_depths()')
  const found = []
  for (const { type, says, is } of await sql(counted)) {
    if (forgotten.has(type)) continue
    for (const [counter, value] of Object.entries(is))
      if (says[counter] !== value) found.push(`the counter ${counter} of ${type} says ${says[counter]}, and there are ${value}`)
  }
  return found
}
