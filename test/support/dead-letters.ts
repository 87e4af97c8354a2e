import type { Holdfast } from 'holdfast'
import type pg from 'pg'

/** Dead letters without the time it takes to run them. */
export async function makeDead(holdfast: Holdfast, sql: pg.Client, count: number, type: string): Promise<string[]> {
  const made = await holdfast.enqueueMany(Array.from({ length: count }, (_, i) => ({ type, payload: { to: `${i}` } })))
  await sql.query(
    `with gone as (delete from holdfast.queue as q using holdfast.types as t where t.id = q.type_id and t.name = $1 returning q.*)
     insert into holdfast.dead_letters select job_id, holdfast.now(), type_id, priority, attempt, 'exhausted',
       jsonb_build_object('name', 'Error', 'message', 'number ' || seq) from gone`,
    [type],
  )
  return made.map((job) => job.id)
}
