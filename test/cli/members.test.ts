import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { typing } from '../support/cli.js'
import { eventually } from '../support/facts.js'
import { Program } from '../support/holdfast-program.js'
import { makeMembers } from '../support/members.js'

const environment = (urls: Record<string, string>) => ({
  HOLDFAST_DATABASES: Object.entries(urls).map(([name, url]) => `${name}=${url}`).join(','), // biome-ignore format: one line
})

test('holdfast members lists, drains and opens, and says which member does not answer', async () => {
  const { holdfasts, urls, proxies, sql } = await makeMembers(['eu', 'us'])
  await holdfasts.registerTypes([defineType({ type: 'send_email' })])
  await holdfasts.enqueue('send_email', 1, { member: 'us' })
  const type = typing(environment(urls))
  expect(await type(['members', 'drain', 'us', '--by', 'ada', '--why', 'too small'])).toMatchObject({ code: 0, err: '' })
  const { out } = await type(['members', 'ls'])
  expect(out.split('\n').slice(1).map((line) => line.trim().split(/\s+/))).toEqual([
    ['eu', 'yes', '0', '0', '0'],
    ['us', 'drained', '1', '0', '0'],
  ]) // biome-ignore format: a table
  expect(await sql('us', `select actor, why, target from holdfast.audit_log where action = 'drain_member'`)).toEqual([
    { actor: 'ada', why: 'too small', target: 'us' },
  ])
  expect(await type(['members', 'open', 'us'])).toMatchObject({ out: 'us: opened; every process follows within five seconds.' })
  expect((await type(['members', 'drain', 'ue'])).err).toMatch(/member is "ue"; there are eu, us/)
  proxies.us?.refuse()
  proxies.us?.cut()
  const away = await type(['members', 'ls', '--json'])
  expect([away.code, JSON.parse(away.out)]).toMatchObject([1, { members: [{ name: 'eu', routed: true }], unavailable: ['us'] }])
})

test('a command goes to the member it names, and of several databases none is guessed', async () => {
  const { holdfasts, urls } = await makeMembers(['eu', 'us'])
  await holdfasts.registerTypes([defineType({ type: 'send_email' })])
  const type = typing(environment(urls))
  const enqueued = JSON.parse((await type(['enqueue', 'send_email', '1', '--member', 'us', '--json'])).out)
  expect(await holdfasts.job(enqueued.id)).toMatchObject({ member: 'us' })
  expect(JSON.parse((await type(['--member', 'eu', 'jobs', 'ls', '--json'])).out).jobs).toEqual([])
  const refused = async (args: string[], problem: RegExp) =>
    expect(await type(args)).toMatchObject({ code: 2, err: expect.stringMatching(problem) })
  await refused(['jobs', 'ls'], /HOLDFAST_DATABASES has several databases: say which one, of eu, us, with --member/)
  await refused(['jobs', 'ls', '--member', 'ue'], /--member is "ue"/)
  await refused(['jobs', 'ls', '--member', 'eu', '--database-url', 'postgres://x/y'], /were both given/)
  expect(await typing({})(['jobs', 'ls', '--member', 'eu'])).toMatchObject({ code: 2 })
})

test('holdfast migrate and holdfast work are for all databases of HOLDFAST_DATABASES', async () => {
  const { urls, add, sql } = await makeMembers(['eu'])
  await add('us')
  const { out } = await typing(environment(urls))(['migrate'])
  expect(out).toBe('eu: Nothing to do: the schema is up to date.\nus: Nothing to do: the schema is up to date.')
  expect(await sql('us', 'select name from holdfast.membership')).toEqual([{ name: 'us' }])
  const handlers = fileURLToPath(new URL('../support/returning-handlers.mjs', import.meta.url))
  const working = (env: Record<string, string>) => new Program(dirname(handlers), ['work', handlers], { env })
  const worker = working(environment(urls))
  await eventually(
    async () => {
      const rows = await Promise.all(
        ['eu', 'us'].map((name) => sql(name, 'select from holdfast.workers where looked_at is not null')),
      )
      return rows.every(({ length }) => length > 0)
    },
    { within: 60_000 },
  ).catch((error) => {
    throw new Error(`${error}: ${worker.complaints}`)
  })
  expect(await worker.end('SIGTERM')).toBe(0)
  const both = working({ ...environment(urls), DATABASE_URL: urls.eu as string })
  expect(await both.ended).toBe(1)
  expect(both.complaints).toMatch(/DATABASE_URL and HOLDFAST_DATABASES are both set/)
})

test('holdfast config check reads HOLDFAST_DATABASES as a worker does, and shows no password of it', async () => {
  const check = (databases: string, more: Record<string, string> = {}) =>
    typing({ HOLDFAST_DATABASES: databases, ...more })(['config', 'check', 'work'])
  const { code, out } = await check(
    'eu=postgres://ada:secret@eu.internal/app,us=postgres://ada:secret@us.internal:6543/app?schema=jobs',
  )
  expect([code, out]).toEqual([0, expect.stringMatching(/eu: app on eu\.internal, us: app on us\.internal:6543/)])
  expect(out).not.toContain('secret')
  const wrong = await check(
    'eu=postgres://ada:secret@eu.internal/app, eu2=postgres://ada:secret@eu.internal/app,US=postgres://x/y',
    {
      HOLDFAST_LISTEN_URL: 'postgres://eu.internal/app',
      HOLDFAST_READ_URL: 'postgres://standby.internal/app',
    },
  )
  expect(wrong.code).toBe(1)
  expect(wrong.out).toMatch(/eu2 has the same address and schema as eu/)
  expect(wrong.out).toMatch(/US is no name of a member/)
  expect(wrong.out).toMatch(/HOLDFAST_LISTEN_URL is of one database/)
  expect(wrong.out).toMatch(/HOLDFAST_READ_URL is of one database/)
  expect(wrong.out).not.toContain('secret')
})

test.each([
  ['a name is forgotten', 'postgres://ada:secret@eu.internal/app'],
  ['a name is forgotten before an address with options', 'postgres://ada:secret@eu.internal/app?sslmode=require'],
  ['a name is forgotten in the middle', 'eu=postgres://eu.internal/app,postgres://ada:secret@us.internal/app'],
])('where %s in HOLDFAST_DATABASES, no command repeats the address', async (_what, HOLDFAST_DATABASES) => {
  const type = typing({ HOLDFAST_DATABASES })
  for (const args of [
    ['jobs', 'ls'],
    ['jobs', 'ls', '--member', 'eu'],
    ['members', 'ls'],
    ['members', 'plproxy'],
    ['config', 'check'],
  ]) {
    const { code, out, err } = await type(args)
    expect([code === 0, out + err]).toEqual([
      false,
      expect.stringMatching(/HOLDFAST_DATABASES has an entry, number 1, that is not a name/),
    ])
    expect(out + err).not.toContain('secret')
  }
})

test('the script for PL/Proxy is made of names of members only', async () => {
  const type = typing({ HOLDFAST_DATABASES: 'EU=postgres://eu.internal/app' })
  expect(await type(['members', 'plproxy'])).toMatchObject({
    code: 2,
    out: '',
    err: expect.stringMatching(/EU, which is no name/),
  })
})
