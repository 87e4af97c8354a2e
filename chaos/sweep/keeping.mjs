// Operations of upkeep: days are made and dropped, the schema is brought up to date.
import { insideOf } from '../../dist/inside.js'
import { callOf, everything } from '../wire/trap.mjs'

const day = 86_400_000
const keep = { completedMs: 7 * day, deadMs: 30 * day }

/** An id as it was made forty days ago. */
function oldId(n) {
  const hex = (Date.now() - 40 * day).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-7000-8000-${String(n).padStart(12, '0')}`
}

/** A day that is over: a job of it has ended, another one of it is still to run. */
export async function makeOldDay(stage) {
  await stage.sql(`select holdfast.make_partition('bodies', (now() at time zone 'UTC')::date - 40)`)
  const specs = [1, 2].map((n) => ({ n, options: { id: oldId(n), maxAttempts: 20 } }))
  const [ended] = await stage.enqueue((requests) => stage.producer().enqueueMany(requests), specs)
  await stage.sql(`with gone as (delete from holdfast.queue where job_id = $1 returning job_id)
                   insert into holdfast.history_rest (job_id, ended_at, outcome, attempt)
                   select job_id, now() - interval '39 days', 'completed', 1 from gone`, [ended.id]) // biome-ignore format: one statement
  stage.promises.pruned = [ended.id]
  stage.note({ kind: 'finish', job: ended.id, attempt: 1, fence: '0', pid: 0 })
}

/** As the chore does it: what failed comes again. */
async function again(work) {
  for (let tries = 0; tries < 4; tries++) {
    const done = await work().then(
      () => true,
      () => false,
    )
    if (done) return
  }
}

export const keeping = [
  {
    name: 'drop-day',
    watch: () => callOf('dropOldestPartition'),
    prepare: makeOldDay,
    perform: (stage, url) => again(() => insideOf(stage.producer(url)).store.partitions.dropOne(keep)),
    async verify(stage) {
      const left = await stage.sql(
        `select relname from pg_class where relname like 'bodies_2%' and relname < 'bodies_' || to_char(now() - interval '8 days', 'YYYYMMDD')`,
      )
      return left.length === 0 ? [] : [`I2: the day ${left[0].relname} was not dropped`]
    },
  },
  {
    name: 'sweep-rest',
    watch: () => callOf('sweepDefaultPartitions'),
    async prepare(stage) {
      await makeOldDay(stage)
      await stage.sql(`select holdfast.drop_oldest_partition('7 days', '30 days')`)
    },
    perform: (stage, url) => again(() => insideOf(stage.producer(url)).store.partitions.sweep(keep, 1000)),
  },
  {
    name: 'make-day',
    watch: () => callOf('makePartition'),
    async prepare(stage) {
      for (const family of ['bodies', 'history', 'dead_letters'])
        await stage.sql(
          `do $$ begin execute 'drop table holdfast.${family}_' || to_char(now() at time zone 'UTC', 'YYYYMMDD'); end $$`,
        )
      // They wait in the default partition until their day is made.
      await stage.enqueue((requests) => stage.producer().enqueueMany(requests), [{}, {}])
    },
    perform: (stage, url) => again(() => insideOf(stage.producer(url)).store.partitions.make()),
    async verify(stage) {
      const missing = await stage.sql('select family from holdfast.missing_partitions()')
      return missing.length === 0 ? [] : [`I2: ${missing.length} days were not made`]
    },
  },
  {
    name: 'migrate',
    watch: everything,
    empty: true,
    perform: (stage, url) => again(() => stage.producer(url).migrate()),
    async settle(stage) {
      await stage.producer().migrate()
      await stage.enqueue((requests) => stage.producer().enqueueMany(requests), [{}])
    },
  },
]
