// An older schema is migrated under load, and the fleet is replaced by one of the newer version, process by process.
import { durable, startServer } from '../server.mjs'
import { Field } from './field.mjs'
import { makeVersion } from './version.mjs'

/** What a next version might do to the tables that everybody uses. */
const tables = `-- Why: what a next version might do. Lock: brief. Cost: small. Old workers: see what they saw. Back: drop the columns.
do $$ declare v_name text; begin
  foreach v_name in array '{bodies,queue,waiting,leases,history,lanes,types}'::text[] loop
    execute format('alter table holdfast.%I add column of_the_next_version text', v_name);
  end loop;
end $$;
create index waiting_of_the_next_version on holdfast.waiting (of_the_next_version);
`

/**
 * A contract that changes, as CONTRIBUTING.md has it: a claim that answers with one more column gets a new name, and the one that running
 * workers call moves to compat as it was. Workers of both versions claim side by side from then on.
 */
function nextVersion({ schema, functions, queries }) {
  schema['9001_next.sql'] = tables
  const claim = functions['claim.sql']
  const begins = claim.indexOf('create or replace function holdfast.claim_jobs(')
  const claimJobs = claim.slice(begins, claim.indexOf('end $$;', begins) + 'end $$;'.length)
  const claimJobs2 = replaced(
    replaced(claimJobs, 'holdfast.claim_jobs(', 'holdfast.claim_jobs_2('),
    'out lease bigint,',
    'out of_the_next_version text, out lease bigint,',
  )
  functions['claim.sql'] = replaced(claim, claimJobs, claimJobs2)
  functions['compat/claim.sql'] = `-- Until 100.0.0: workers of the version before claim with it.\n${claimJobs}\n`
  queries['claim.sql'] = replaced(queries['claim.sql'], 'holdfast.claim_jobs(', 'holdfast.claim_jobs_2(')
}

function replaced(text, from, to) {
  if (!text.includes(from)) throw new Error(`the next version cannot be made: there is no "${from}" any more`)
  // Not a pattern: SQL is full of dollar signs.
  return text.replaceAll(from, () => to)
}

export const migration = {
  name: 'campaigns/migration',
  async run(seed, report) {
    const before = makeVersion('0.0.1', () => {})
    const after = makeVersion('99.0.0', nextVersion)
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
  const { files, functions } = await version.migrate(field.server.url)
  if (files.length !== 1 || !functions) throw new Error(`a file and the functions were to run, and ran: ${JSON.stringify(files)}`)
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
