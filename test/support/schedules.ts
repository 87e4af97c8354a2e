import { defineType, type ScheduleDefinition } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { Scheduler } from '../../src/schedule/scheduler.js'
import { makeQueue, type Queue } from './queue.js'

export const report = defineType({ type: 'report' })
export const ada = { by: 'ada', why: 'a test' }

/** A queue whose clock stands still where a test puts it, and that fires what is due when a test says so. */
export interface ScheduledQueue extends Queue {
  setClock(time: string): Promise<void>
  /** Fires whatever is due, as a worker of that number does. */
  fire(worker?: number): Promise<void>
  create(definition: Partial<ScheduleDefinition>): Promise<void>
  /** The ticks of a schedule, first to last: when, and what became of it. */
  ticks(name?: string): Promise<string[]>
  /** For which ticks there are jobs, first to last, with their status. */
  jobs(): Promise<string[]>
  /** What schedulers told. */
  readonly told: string[]
}

export async function makeScheduledQueue(time = '2026-01-01T00:30:00Z'): Promise<ScheduledQueue> {
  const queue = await makeQueue()
  const told: string[] = []
  const { store, privacy } = insideOf(queue.holdfast)
  const failed = (what: string, error: unknown) => void told.push(`${what} ${error}`)
  const monitor = { asking() {}, answered() {}, gaveUp: failed, failed }
  const scheduled: ScheduledQueue = {
    ...queue,
    told,
    async setClock(to) {
      await queue.sql(`create or replace function holdfast.now() returns timestamptz language sql volatile parallel safe
                       as 'select timestamptz ''${to}'''`)
    },
    async fire(worker = 1) {
      const tell = (name: string, event: object) => void told.push(`${name} ${JSON.stringify(event)}`)
      const scheduler = new Scheduler(store.schedules, privacy, worker, monitor, { tell })
      while ((await scheduler.look()) === 0);
    },
    create: (definition) =>
      queue.holdfast.schedules.create(
        { name: 'hourly', type: 'report', cron: '0 * * * *', ...definition } as ScheduleDefinition,
        ada,
      ),
    async ticks(name = 'hourly') {
      const rows = await queue.sql(
        `select to_char(t.tick at time zone 'UTC', 'HH24:MI') as at, t.outcome from holdfast.ticks as t
         join holdfast.schedules as s on s.id = t.schedule_id where s.name = $1 order by t.tick`,
        [name],
      )
      return rows.map(({ at, outcome }) => `${at} ${outcome}`)
    },
    async jobs() {
      const rows = await queue.sql(
        `select to_char(b.scheduled_for at time zone 'UTC', 'HH24:MI') as at, (select j.status from holdfast.jobs as j where j.id = b.id) as status
         from holdfast.bodies as b order by b.scheduled_for, b.id`,
      )
      return rows.map(({ at, status }) => `${at} ${status}`)
    },
  }
  await scheduled.setClock(time)
  await queue.holdfast.registerTypes([report])
  return scheduled
}
