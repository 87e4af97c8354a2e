import { Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

const who = { by: 'ada', why: 'because', from: '10.0.0.7' }
let scratch: ScratchDatabase
let holdfast: Holdfast
let sql: pg.Client

beforeEach(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  holdfast = new Holdfast({ connectionString: scratch.connectionString })
  sql = new pg.Client({ connectionString: scratch.connectionString })
  await sql.connect()
})
afterEach(async () => {
  await sql.end()
  await holdfast.close()
  await scratch.drop()
})

const billing = { service: 'billing', roles: ['producer'] }

describe('a key', () => {
  test('is shown once, and only its hash is kept', async () => {
    const made = await holdfast.access.createKey({ ...billing, types: ['invoice'], rateLimit: 5, expires: '90d' }, who)
    expect(made.key).toMatch(/^hf_[\w-]{32}$/)
    expect(made).toMatchObject({ ...billing, types: ['invoice'], rateLimit: 5, live: true, createdBy: 'ada', lastUsedAt: null })
    const { rows } = await sql.query(
      "select string_agg(to_jsonb(t)::text, ' ') as all from (select * from holdfast.api_keys) as t",
    )
    const { rows: lines } = await sql.query("select string_agg(to_jsonb(t)::text, ' ') as all from holdfast.audit_log as t")
    for (const text of [rows[0].all, lines[0].all, JSON.stringify(await holdfast.access.keys())]) {
      expect(text).toContain(made.prefix)
      expect(text).not.toContain(made.key.slice(9))
    }
  })

  test('stands for its service with the permissions of all its roles, until it is revoked', async () => {
    const { key, id } = await holdfast.access.createKey({ service: 'eve', roles: ['viewer', 'worker'] }, who)
    const caller = await holdfast.access.caller(key)
    expect(caller).toMatchObject({ service: 'eve', types: undefined, rateLimit: 1_000 })
    expect([...(caller?.permissions ?? [])].sort()).toEqual(['jobs:read', 'jobs:work', 'workers:view'])
    expect(await holdfast.access.caller(`${key}x`)).toBeUndefined()
    expect((await holdfast.access.keys('eve'))[0]?.lastUsedAt?.getUTCSeconds()).toBe(0)
    await holdfast.access.revokeKey(id, who)
    expect(await holdfast.access.caller(key)).toBeUndefined()
  })

  test('ends when its time is over', async () => {
    const { key } = await holdfast.access.createKey({ ...billing, expires: '1h' }, who)
    expect(await holdfast.access.caller(key)).toBeDefined()
    await insideOf(holdfast).store.moveClock({ byMs: 3_600_001 })
    expect(await holdfast.access.caller(key)).toBeUndefined()
    expect(await holdfast.access.keys()).toMatchObject([{ live: false, revokedAt: null }])
  })

  test('can be rotated: two live, a third is refused, and the first ends after the grace', async () => {
    const first = await holdfast.access.createKey({ ...billing, types: ['invoice'] }, who)
    const second = await holdfast.access.rotateKey(first.id, who, { grace: '1h' })
    expect(second).toMatchObject({ ...billing, types: ['invoice'], live: true })
    expect(await holdfast.access.caller(first.key)).toBeDefined()
    await expect(holdfast.access.createKey(billing, who)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/two keys already/),
    })
    await insideOf(holdfast).store.moveClock({ byMs: 3_600_001 })
    expect(await holdfast.access.caller(first.key)).toBeUndefined()
    expect(await holdfast.access.caller(second.key)).toMatchObject({ service: 'billing' })
    await expect(holdfast.access.rotateKey(first.id, who)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('of ten made at once for one service, two live', async () => {
    const made = await Promise.allSettled(Array.from({ length: 10 }, () => holdfast.access.createKey(billing, who)))
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
  })

  test.each([
    ['an unknown role', { service: 'a', roles: ['producr'] }, /no role "producr".*producer/],
    ['no role', { service: 'a', roles: [] }, /allows nothing/],
    ['the name of the installation', { service: 'admin', roles: ['viewer'] }, /uses itself/],
    ['a name with a line break', { service: 'a\nb', roles: ['viewer'] }, /service/],
    ['a rate of 0', { service: 'a', roles: ['viewer'], rateLimit: 0 }, /rateLimit is 0/],
    ['a misspelt field', { service: 'a', roles: ['viewer'], type: ['x'] }, /did you mean "types"/],
  ])('is refused with %s', async (_what, fields, message) => {
    await expect(holdfast.access.createKey(fields as never, who)).rejects.toMatchObject({ code: 'invalid_option', message })
    expect(await holdfast.access.keys()).toEqual([])
  })
})

describe('roles', () => {
  test('of one’s own say what the keys that have them allow, at once', async () => {
    await holdfast.access.setRole('night-watch', ['workers:view'], who)
    const { key, id } = await holdfast.access.createKey({ service: 'pager', roles: ['night-watch'] }, who)
    await holdfast.access.setRole('night-watch', ['workers:view', 'workers:manage'], who)
    expect([...((await holdfast.access.caller(key))?.permissions ?? [])]).toHaveLength(2)
    await expect(holdfast.access.dropRole('night-watch', who)).rejects.toMatchObject({ code: 'conflict' })
    await holdfast.access.revokeKey(id, who)
    await holdfast.access.dropRole('night-watch', who)
    await expect(holdfast.access.dropRole('night-watch', who)).rejects.toMatchObject({ code: 'not_found' })
  })

  test('that came with the installation stay as they are, and unknown permissions are refused', async () => {
    await expect(holdfast.access.setRole('viewer', ['admin'], who)).rejects.toMatchObject({ code: 'conflict' })
    await expect(holdfast.access.dropRole('viewer', who)).rejects.toMatchObject({ code: 'conflict' })
    await expect(holdfast.access.setRole('x', ['jobs:reed' as never], who)).rejects.toMatchObject({
      message: expect.stringMatching(/"jobs:read"/),
    })
    expect((await holdfast.access.roles()).filter(({ builtIn }) => builtIn).map(({ name }) => name)).toEqual(
      ['admin', 'operator', 'producer', 'viewer', 'worker'], // biome-ignore format: one list
    )
  })
})
