// An older schema is migrated under load, and the fleet is replaced by one of the newer version, process by process.
import { durable, startServer } from '../server.mjs'
import { Field } from './field.mjs'
import { makeVersion } from './version.mjs'

/** The youngest of ours that a fleet can be without, so that the version before it can be played. */
const youngest = '0021_sql_enqueue'

/** What a next version might do to the tables that everybody uses, and to the functions of which everybody has plans. */
const next = `
do $$ declare v_name text; begin
  foreach v_name in array '{bodies,queue,waiting,gated,leases,history,lanes,types}'::text[] loop
    execute format('alter table holdfast.%I add column of_the_next_version text', v_name);
  end loop;
  foreach v_name in array '{enqueue_jobs,claim_jobs,settle_jobs,promote_due,end_leases}'::text[] loop
    execute pg_get_functiondef(('holdfast.' || v_name)::regproc);
  end loop;
end $$;
create index waiting_of_the_next_version on holdfast.waiting (of_the_next_version);
`

export const migration = {
  name: 'campaigns/migration',
  async run(seed, report) {
    const before = makeVersion({ leave: [youngest] })
    const after = makeVersion({ add: { '9001_next.sql': next } })
    const server = await startServer({ settings: durable })
    let field
    try {
      field = await Field.open(server, { version: before })
      await Promise.all([field.startWorker(), field.startWorker(), field.startProducer(seed, 10), field.startCanceller(seed)])
      const facts = []
      if (!(await field.progress(60))) facts.push('I14: nothing went on before the migration')
      await field.strike('migration-under-load', () => migrate(field, after), undefined, report)
      if (!(await field.progress(60))) facts.push('I14: the older version did not go on after the migration')
      await field.strike('rolling-upgrade', () => replaceAll(field, after, seed), undefined, report)
      if (!(await field.progress(60))) facts.push('I14: the newer version did not go on')
      return await field.finish(facts)
    } finally {
      await field?.close()
      await server.stop()
      before.remove()
      after.remove()
    }
  },
}

async function migrate(field, version) {
  const applied = await version.migrate(field.server.url)
  if (applied.length !== 2) throw new Error(`two migrations were to run, and ran: ${applied.join(', ')}`)
}

async function replaceAll(field, version, seed) {
  const [workers, producers] = [field.fleet.of('worker'), field.fleet.of('producer')]
  field.version = version
  for (const old of workers) {
    await field.fleet.stop(old)
    await field.startWorker()
  }
  for (const old of producers) {
    await field.fleet.stop(old)
    await field.startProducer(seed + 1, 10)
  }
}
