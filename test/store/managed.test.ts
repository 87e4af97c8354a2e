import { randomBytes } from 'node:crypto'
import { defineType, Holdfast } from 'holdfast'
import { makeScratchDatabase } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { quiet } from '../support/serving.js'

test('a role that owns nothing but the schema migrates, enqueues and works, as a managed PostgreSQL gives it out', async () => {
  const scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  onTestFinished(() => scratch.drop())
  const sql = new pg.Client({ connectionString: scratch.connectionString })
  await sql.connect()
  const role = `managed_${randomBytes(4).toString('hex')}`
  const database = new URL(scratch.connectionString).pathname.slice(1)
  await sql.query(`create role ${role} login password 'x' nosuperuser nocreatedb nocreaterole noreplication nobypassrls`)
  await sql.query(`revoke all on database "${database}" from public; grant connect on database "${database}" to ${role}`)
  await sql.query(`revoke all on schema public from public; create schema jobs authorization ${role}`)
  const url = new URL(scratch.connectionString)
  Object.assign(url, { username: role, password: 'x' })
  const holdfast = new Holdfast({ connectionString: url.href, schema: 'jobs' })
  onTestFinished(async () => {
    await holdfast.close()
    await sql.query(`drop owned by ${role} cascade; drop role ${role}`)
    await sql.end()
  })

  await holdfast.migrate()
  const greet = defineType({ type: 'greet', run: ({ name }: { name: string }) => `hello ${name}` })
  const worker = await startWorker(holdfast, [greet], { logger: quiet })
  onTestFinished(() => worker.stop({ now: true }))
  const job = await holdfast.enqueue(greet, { name: 'ada' })
  expect(await holdfast.wait(job)).toBe('hello ada')
  // Everything of it is in that schema, and nothing else is the role's.
  const { rows } = await sql.query(
    `select distinct n.nspname as schema from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
     where c.relowner = $1::regrole and n.nspname <> 'pg_toast'`,
    [role],
  )
  expect(rows).toEqual([{ schema: 'jobs' }])
  // Nor does the check-up need more.
  expect((await holdfast.doctor()).checked.length).toBeGreaterThan(0)
})
