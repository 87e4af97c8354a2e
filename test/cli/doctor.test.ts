import { defineType, Holdfast } from 'holdfast'
import type { DoctorAnswer } from 'holdfast/client'
import { expect, onTestFinished, test } from 'vitest'
import { type Reached, reach, typing } from '../support/cli.js'
import { eventually } from '../support/facts.js'
import { startHere } from '../support/worker-here.js'

const mail = defineType({ type: 'mail', run: () => {} })
const known = { code: expect.any(String), evidence: expect.any(Array), message: expect.any(String) }

/** What the check-up finds both ways, by code. What the server of the tests is set to does not count. */
async function found({ database, http }: Pick<Reached, 'database' | 'http'>, ...args: string[]) {
  const [one, other] = [await database(['doctor', '--json', ...args]), await http(['doctor', '--json', ...args])]
  const [answer, same] = [JSON.parse(one.out), JSON.parse(other.out)] as [DoctorAnswer, DoctorAnswer]
  // A statement of the server itself may be under way, and so one transaction more be open.
  expect(codesOf(same)).toEqual(codesOf(answer))
  expect(other.code).toBe(one.code)
  expect(one.code).toBe({ fine: 0, warnings: 1, errors: 2 }[answer.verdict])
  for (const finding of answer.findings) expect(finding).toMatchObject({ ...known, remedy: expect.stringMatching(/\w/) })
  const ofTheServer = /^(fsync|full_page_writes|synchronous_commit|autovacuum)_off$|^unused_slot$/
  return new Map(answer.findings.flatMap((one) => (ofTheServer.test(one.code) ? [] : [[one.code, one]])))
}

const codesOf = ({ findings }: DoctorAnswer) => [...new Set(findings.map(({ code }) => code))]

const codes = async (reached: Reached, ...args: string[]) => [...(await found(reached, ...args)).keys()]

/** What one look finds, for those who wait until it does: between two looks it may change. */
async function look({ database }: Reached, ...args: string[]): Promise<string[]> {
  return codesOf(JSON.parse((await database(['doctor', '--json', ...args])).out))
}

test('holdfast doctor finds nothing wrong with a fresh installation, whose schema is read right, and says what it looked at', async () => {
  const reached = await reach()
  expect(await codes(reached)).toEqual([])
  const { out } = await reached.database(['doctor'], { columns: 80 })
  expect(out).toMatch(/\(looked at durability, connections, .*schema\)$/s)
  expect(await reached.eachWay.http('doctor', '--transaction', 'often')).toMatch(/^1 holdfast: .*transaction/)
})

test('a server that may lose what it acknowledged is an error, also where one role or connection says so', async () => {
  const { queue } = await reach()
  const careless = typing({ DATABASE_URL: `${queue.url}?options=${encodeURIComponent('-c synchronous_commit=off')}` })
  const { out, code } = await careless(['doctor'], { columns: 80 })
  expect(out).toMatch(/^error {2}synchronous_commit_off\n {2}synchronous_commit is off: /m)
  expect(out).toMatch(/^ {2}→ alter system set synchronous_commit = on;/m)
  expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(130)
  expect(code).toBe(2)
})

test('dead rows, stale statistics, an open transaction, an invalid index and an unread slot are found while they last', async () => {
  const reached = await reach()
  const { queue } = reached
  await queue.sql('alter table holdfast.moves set (autovacuum_enabled = off)')
  await queue.sql(
    `insert into holdfast.moves select gen_random_uuid(), now(), 'run_now', 'ada', null, '{}', '{}' from generate_series(1, 51000)`,
  )
  await queue.sql(`delete from holdfast.moves where ctid <> '(0,1)' and ctid <> '(0,2)'`)
  await expect(queue.sql('create unique index concurrently by_actor on holdfast.moves (actor)')).rejects.toThrow(
    /could not create unique index/,
  )
  const holder = await queue.connect()
  await holder.query(`set application_name = 'a forgotten shell'; begin; select txid_current()`)
  const slot = `doctor_${process.pid}`
  await queue.sql('select pg_create_physical_replication_slot($1, true)', [slot])
  onTestFinished(async () => void (await queue.sql('select pg_drop_replication_slot($1)', [slot]).catch(() => {})))
  const inTime = ['--transaction', '0ms'] as const
  await eventually(async () => {
    const seen = await look(reached, ...inTime)
    return seen.includes('bloat') && seen.includes('stale_statistics')
  })

  const all = await found(reached, ...inTime)
  expect(all.get('bloat')).toMatchObject({ severity: 'warning', message: expect.stringContaining('moves') })
  expect(all.get('stale_statistics')).toMatchObject({ remedy: 'analyze holdfast.moves;' })
  expect(all.get('autovacuum_disabled')?.message).toContain('moves')
  expect(all.get('invalid_index')?.remedy).toMatch(/^reindex index concurrently holdfast\.by_actor;/)
  const open = JSON.parse((await reached.database(['doctor', '--json', ...inTime])).out) as DoctorAnswer
  const held = open.findings.flatMap(({ code, evidence }) => (code === 'long_transaction' ? [evidence.join(', ')] : []))
  expect(held).toContainEqual(expect.stringMatching(/^session \d+ \(a forgotten shell, .*idle in transaction\), open for /))
  expect(await look(reached)).not.toContain('long_transaction')
  const everything = JSON.parse((await reached.database(['doctor', '--json'])).out) as DoctorAnswer
  expect(everything.findings.filter(({ code }) => code === 'unused_slot').map(({ evidence }) => evidence[0])).toContain(
    `slot ${slot} (physical)`,
  )

  await holder.query('rollback')
  await queue.sql('select pg_drop_replication_slot($1)', [slot])
  await queue.sql('drop index holdfast.by_actor')
  await queue.sql('alter table holdfast.moves reset (autovacuum_enabled)')
  await queue.sql('vacuum analyze holdfast.moves')
  await eventually(async () => (await look(reached)).every((code) => !/bloat|stale|long|index|autovacuum_disabled/.test(code)))
})

test('a schema that is not as the release made it is an error that names every difference', async () => {
  const reached = await reach()
  const { queue } = reached
  await queue.sql('drop index holdfast.moves_of_job')
  await queue.sql('alter table holdfast.moves drop constraint move_is_known')
  await queue.sql(
    'alter table holdfast.moves drop column why, alter column actor type varchar(99), alter column before drop not null',
  )
  await queue.sql('drop table holdfast.notes')
  await queue.sql('alter table holdfast.signals disable trigger check_signal')
  await queue.sql(`create function holdfast.shout() returns trigger language plpgsql as 'begin return new; end'`)
  await queue.sql('create trigger shout before insert on holdfast.moves for each row execute function holdfast.shout()')
  await queue.sql(
    `create or replace function holdfast.first_id_at(at timestamptz) returns uuid language sql as 'select gen_random_uuid()'`,
  )
  const all = await found(reached)
  expect(all.get('columns_changed')?.evidence.sort()).toEqual([
    'moves.actor is character varying, and should be text',
    'moves.before may be null, and should not',
    'moves.why is missing',
    'table notes is missing',
  ])
  expect(all.get('missing_index')?.evidence).toEqual(['moves_of_job on moves'])
  expect(all.get('missing_constraint')?.evidence.filter((name) => !name.startsWith('notes.'))).toEqual(['moves.move_is_known'])
  expect(all.get('missing_trigger')?.evidence).toEqual(['check_signal on signals'])
  expect(all.get('foreign_trigger')).toMatchObject({ severity: 'warning', evidence: ['shout on moves'] })
  expect(all.get('functions_changed')?.evidence).toEqual(['first_id_at was changed'])
})

test('a fleet with larger pools than the server, jobs that no worker runs, an empty lane, and a day that stays are found', async () => {
  const reached = await reach()
  const { queue } = reached
  const { holdfast } = queue
  await holdfast.registerTypes([mail])
  await holdfast.flow.setLane('dusty', { slots: 1 }, { by: 'ada' }, { create: true })
  await holdfast.enqueue(mail, {})
  const alone = await found(reached)
  expect(alone.get('unserved_lane')).toMatchObject({ severity: 'error', evidence: ['1 jobs', 'types mail'] })
  expect(alone.get('unused_lane')).toMatchObject({ severity: 'note', remedy: expect.stringContaining('dusty') })

  const greedy = new Holdfast({ connectionString: queue.url, connections: 10_000 })
  onTestFinished(() => greedy.close())
  await startHere({ ...queue, holdfast: greedy }, [mail])
  await eventually(async () => (await holdfast.jobs({ status: 'completed' })).jobs.length === 1)
  const manned = await found(reached)
  expect(manned.has('unserved_lane')).toBe(false)
  expect(manned.get('too_few_connections')).toMatchObject({
    severity: 'error',
    evidence: ['10001 connections that 1 workers may open', expect.any(String), expect.any(String)],
  })

  // A worker has gone through what had its time; since then nobody has, and a day was left.
  await eventually(async () => (await queue.sql('select from holdfast.retention_ran')).length === 1)
  await queue.sql(`select holdfast.make_partition('history', (now() - interval '12 days')::date)`)
  expect((await found(reached)).get('retention_behind')?.evidence).toEqual([expect.stringMatching(/^history_\d{8}$/)])
  await queue.sql(`update holdfast.retention_ran set ran_at = now() - interval '2 hours', completed = '1 year'`)
  expect((await found(reached)).get('retention_idle')).toMatchObject({ evidence: ['last 2h ago'] })
  await queue.sql(`update holdfast.workers set swallowed_at = now()`)
  expect((await found(reached)).get('swallowed_wake_ups')?.evidence).toEqual([expect.stringMatching(/^worker 1 \(/)])
})
