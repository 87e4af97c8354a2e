import { randomBytes } from 'node:crypto'
import { defineType, Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { rolesScript } from '../../src/store/migrate.js'
import { asAdmin, onDatabase } from '../support/empty-database.js'
import { quiet } from '../support/small-worker.js'
import { makeTwoSchemas, type TwoSchemas } from '../support/two-schemas.js'

/** Two installations in one database, each with its roles: who logs in as a role of one may not touch the other. */
const who = { by: 'ada', why: 'a test of schemas' }
/** Roles belong to the whole server, so these are of this run alone. The second name needs quotes. */
const run = randomBytes(4).toString('hex')
const names = [`jobs_eu_${run}`, `Jobs US-${run}`] as const
const kinds = ['producer', 'reader', 'worker', 'operator', 'server']
const greet = defineType({ type: 'greet', run: (name: string) => `hello ${name}` })

let two: TwoSchemas
const logins: string[] = []

beforeAll(async () => {
  two = await makeTwoSchemas(names)
  await two.each(async (_, holdfast) => {
    await holdfast.registerTypes([greet])
    await holdfast.grantRoles()
  })
})
afterAll(async () => {
  await two.end()
  const roles = [...logins, ...names.flatMap((name) => kinds.map((kind) => `${name}_${kind}`))]
  await asAdmin((client) => client.query(`drop role if exists ${roles.map((role) => pg.escapeIdentifier(role)).join(', ')}`))
})

/** A user of that role of that installation: with its Holdfast, and with one that is set to the other installation. */
async function loginAs(kind: string, name: string) {
  const login = `holdfast_test_${randomBytes(6).toString('hex')}`
  logins.push(login)
  await asAdmin((admin) =>
    admin.query(`create role ${login} login password 'x' in role ${pg.escapeIdentifier(`${name}_${kind}`)}`),
  )
  const connectionString = Object.assign(new URL(two.database.connectionString), { username: login, password: 'x' }).href
  const holdfast = new Holdfast({ connectionString, schema: name })
  const strayed = new Holdfast({ connectionString, schema: two.otherThan(name) })
  const client = new pg.Client({ connectionString })
  await client.connect()
  onTestFinished(async () => {
    await client.end()
    await holdfast.close()
    await strayed.close()
  })
  return { holdfast, strayed, client, here: pg.escapeIdentifier(name), there: pg.escapeIdentifier(two.otherThan(name)) }
}

const denied = { code: '42501' }
const refused = { code: 'permission_denied' }

/** Every right in a schema that somebody other than its owner has, as PostgreSQL says it. */
const rights = (name: string) =>
  onDatabase(two.database.connectionString, async (client) => {
    const { rows } = await client.query<{ role: string; right: string }>(
      `select case when g.grantee = 0 then 'public' else g.grantee::regrole::text end as role, o.name || ' ' || g.privilege_type as right
       from (
         select oid::regprocedure::text as name, proowner as owner, coalesce(proacl, acldefault('f', proowner)) as acl
         from pg_proc where pronamespace = $1::regnamespace
         union all
         select oid::regclass::text, relowner, coalesce(relacl, acldefault('r', relowner))
         from pg_class where relnamespace = $1::regnamespace and relkind in ('r', 'p', 'v', 'S')
         union all
         select attrelid::regclass || '.' || attname, 0, attacl from pg_attribute join pg_class as c on c.oid = attrelid
         where c.relnamespace = $1::regnamespace and attacl is not null
         union all
         select nspname, nspowner, coalesce(nspacl, acldefault('n', nspowner)) from pg_namespace where oid = $1::regnamespace
       ) as o, aclexplode(o.acl) as g
       where g.grantee <> o.owner and g.grantee <> (select nspowner from pg_namespace where oid = $1::regnamespace) order by 1, 2`,
      [pg.escapeIdentifier(name)],
    )
    return rows
  })

describe.each(names)('the roles of schema %s', (name) => {
  test('are the only ones with rights in it, and the script grants them the same', async () => {
    const granted = await rights(name)
    const ours = kinds.map((kind) => `${name}_${kind}`)
    expect([...new Set(granted.map(({ role }) => role.replaceAll('"', '')))].sort()).toEqual(ours.sort())
    await onDatabase(two.database.connectionString, (client) => client.query(rolesScript(name)))
    expect(await rights(name)).toEqual(granted)
  })

  test('let a function with the rights of the owner look into this schema alone', async () => {
    const paths = await onDatabase(two.database.connectionString, async (client) => {
      const { rows } = await client.query<{ path: string }>(
        `select distinct c as path from pg_proc, unnest(proconfig) as c
         where pronamespace = $1::regnamespace and prosecdef and c like 'search_path=%'`,
        [pg.escapeIdentifier(name)],
      )
      return rows.map(({ path }) => path)
    })
    expect(paths).toEqual([`search_path=${/^[a-z]/.test(name) ? name : `"${name}"`}, pg_temp`])
  })

  test('let a producer enqueue here, by the SDK and by SQL, and not there', async () => {
    const { holdfast, strayed, client, here, there } = await loginAs('producer', name)
    const { id } = await holdfast.enqueue(greet, 'ada')
    const { rows } = await client.query(`select id from ${here}.enqueue('greet', '"bob"')`)
    expect(await two.holdfast(name).job(id)).toMatchObject({ status: 'pending' })
    expect(await two.holdfast(name).job(rows[0].id)).toMatchObject({ status: 'pending' })
    await expect(strayed.enqueue(greet, 'ada')).rejects.toMatchObject(refused)
    await expect(client.query(`select ${there}.enqueue('greet', '"bob"')`)).rejects.toMatchObject(denied)
    await expect(client.query(`select ${there}.now()`)).rejects.toMatchObject(denied)
  })

  test('let a worker run jobs here, do the upkeep, and read and change nothing there', async () => {
    const { holdfast, strayed, client, here, there } = await loginAs('worker', name)
    const worker = await startWorker(holdfast, [greet], { logger: quiet })
    onTestFinished(() => worker.stop())
    const { id } = await holdfast.enqueue(greet, 'the worker')
    expect(await holdfast.wait(id)).toBe('hello the worker')
    const { rows } = await client.query(`select ${here}.make_partition('bodies', '2051-01-01') as made`)
    expect(rows).toEqual([{ made: true }])
    await expect(startWorker(strayed, [greet], { logger: quiet })).rejects.toMatchObject(refused)
    for (const statement of [
      `select payload from ${there}.bodies`,
      `delete from ${there}.queue`,
      `insert into ${there}.audit_log default values`,
      `select ${there}.make_partition('bodies', '2051-01-01')`,
      `select ${there}.drop_oldest_partition('0', '0')`,
    ]) {
      await expect(client.query(statement)).rejects.toMatchObject(denied)
    }
  })

  test('let a reader, an operator and a server see and do here what is theirs, and nothing there', async () => {
    const reader = await loginAs('reader', name)
    await reader.client.query(`select id, status from ${reader.here}.jobs`)
    await expect(reader.client.query(`select id, status from ${reader.there}.jobs`)).rejects.toMatchObject(denied)

    const operator = await loginAs('operator', name)
    await operator.holdfast.flow.pauseType('greet', who)
    await operator.holdfast.flow.resumeType('greet', who)
    await expect(operator.strayed.flow.pauseType('greet', who)).rejects.toMatchObject(refused)
    await expect(operator.strayed.audit()).rejects.toMatchObject(refused)

    const server = await loginAs('server', name)
    await server.holdfast.access.createKey({ service: 'shop', roles: ['viewer'] }, who)
    await expect(server.strayed.access.createKey({ service: 'shop', roles: ['admin'] }, who)).rejects.toMatchObject(refused)
    await expect(server.strayed.access.keys()).rejects.toMatchObject(refused)
  })
})
