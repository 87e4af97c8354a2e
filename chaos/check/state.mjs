// What the database says after everything has come to rest, read past everything the product does itself.
import pg from 'pg'
import { emptyHistory } from './history.mjs'

const text = {
  jobs: `select id::text, type, status, attempt, max_attempts as "maxAttempts", payload::text, idempotency_key as key from holdfast.jobs`,
  // In the order they were written: a campaign may set the clock of the database back, so their times do not tell it.
  attempts: `
    select job_id::text as job, attempt, outcome::text, worker_id as worker, started_at as "startedAt", ended_at as "endedAt"
    from holdfast.history order by xmin::text::bigint, ended_at`,
  deadlocks: `select deadlocks::int from pg_stat_database where datname = current_database()`,
  sessions: `
    select application_name as name, state, extract(epoch from clock_timestamp() - state_change) * 1000 as "forMs"
    from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
  locks: `
    select distinct l.locktype || ' ' || l.mode as lock from pg_locks as l join pg_database as d on d.oid = l.database
    where d.datname = current_database() and l.pid <> pg_backend_pid() and l.locktype in ('advisory', 'tuple')`,
  slots: `
    select 'lane' as of, s.job_id::text as job from holdfast.lane_slots as s
    where not exists (select from holdfast.queue as q where q.job_id = s.job_id and q.lease_id is not null)
    union all select 'cancelled job', c.job_id::text from holdfast.cancellations as c`,
  // From the jobs, so that a second one of a tick shows; and from the ticks, so that one whose job was never stored does.
  ticks: `
    select b.payload ->> 'schedule' as schedule, (date_part('epoch', b.scheduled_for) * 1000)::float8 as tick, b.id::text as job
    from holdfast.bodies as b where b.scheduled_for is not null
    union select s.name, (date_part('epoch', t.tick) * 1000)::float8, t.job_id::text
    from holdfast.ticks as t join holdfast.schedules as s on s.id = t.schedule_id where t.job_id is not null`,
  hurriedTicks: `
    select s.name as schedule, (date_part('epoch', t.tick) * 1000)::float8 as tick, (date_part('epoch', t.tick - t.at) * 1000)::float8 as "earlyMs"
    from holdfast.ticks as t join holdfast.schedules as s on s.id = t.schedule_id where t.kind = 'tick' and t.at < t.tick`,
  executions: `
    select e.id::text, e.workflow, e.status, exists (select from holdfast.group_changes as c where c.group_id = e.id) as unread from holdfast.executions as e`,
  tasks: `
    select t.execution_id::text as execution, t.name, t.item, t.status, t.parents, t.sub_workflow is not null as sub, t.job_id::text as job from holdfast.tasks as t`,
  members: `select m.group_id::text as group, m.task, m.item, m.job_id::text as job from holdfast.members as m`,
  batches: `select b.id::text, b.status, b.round, b.live, b.completed, b.dead, b.cancelled, b.discarded from holdfast.batch_progress as b`,
  audit: `select regexp_replace(action, '_job$', '') as action, target as job, actor from holdfast.audit_log`,
  counts: `select status, count(*)::int from holdfast.jobs group by status`,
}

/** While this finds something, the queue is not at rest: what is to end, slots of jobs that have, and news of ends that nobody has read. */
export const unfinished = `
  select from holdfast.jobs where status not in ('completed', 'dead', 'cancelled', 'discarded')
  union all select from holdfast.lane_slots union all select from holdfast.cancellations
  union all select from holdfast.executions where status = 'running' union all select from holdfast.batches where status = 'running'
  union all select from holdfast.group_changes
  limit 1`

/** Sessions say goodbye a moment after their client has gone; what is still there after that was forgotten. */
const goodbyeMs = 8_000

/**
 * @param {string} url of the database, to be read once every process of the run has ended
 * @param {object[]} entries of the ledger
 * @param {object} options `promises` of this run; `counts` as the product shows them; `mayStay` names sessions of the bench
 */
export async function readHistory(url, entries, { promises = {}, counts, mayStay = [] } = {}) {
  const client = new pg.Client({ connectionString: url, application_name: 'chaos checker' })
  await client.connect()
  try {
    const rows = async (name) => (await client.query(text[name])).rows
    const mine = ({ name }) => !mayStay.includes(name)
    const deadline = performance.now() + goodbyeMs
    let leaked = (await rows('sessions')).filter(mine)
    while (leaked.length > 0 && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      leaked = (await rows('sessions')).filter(mine)
    }
    return {
      ...emptyHistory(),
      entries,
      promises,
      jobs: await rows('jobs'),
      attempts: await rows('attempts'),
      slots: await rows('slots'),
      ticks: await rows('ticks'),
      hurriedTicks: await rows('hurriedTicks'),
      executions: await rows('executions'),
      tasks: await rows('tasks'),
      members: await rows('members'),
      batches: await rows('batches'),
      audit: await rows('audit'),
      counts: counts ?? (await rows('counts')),
      sessions: {
        deadlocks: (await rows('deadlocks'))[0].deadlocks,
        leaked: leaked.map(({ name, state }) => `${name} (${state})`),
        idleInTransaction: leaked.filter(({ state }) => state?.startsWith('idle in transaction')).map(({ name }) => name),
        locks: (await rows('locks')).map(({ lock }) => lock),
      },
    }
  } finally {
    await client.end()
  }
}
