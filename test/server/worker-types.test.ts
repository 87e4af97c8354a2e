import { defineType } from 'holdfast'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Serving, serve } from '../support/serving.js'

// biome-ignore lint/suspicious/noExplicitAny: what comes back is what is tested
type Answer = any
let serving: Serving
const keys: Record<string, string> = {}
const who = { by: 'ada' }
const pay = defineType({
  ...{ type: 'pay', lane: 'interactive', priority: 7, maxAttempts: 4, timeout: '2m', sensitive: true, approval: { quorum: 2 } },
  ...{ unique: { onConflict: 'reject' }, limits: { maxRunning: 3 }, backoff: { base: '7s' } },
} as const)

beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([pay, defineType({ type: 'greet' })], { update: true })
  await serving.holdfast.access.setRole('keeper', ['jobs:work', 'types:manage'], who)
  for (const [service, role] of Object.entries({ plain: 'worker', keeper: 'keeper' })) {
    keys[service] = (await serving.holdfast.access.createKey({ service, roles: [role] }, who)).key
  }
})
afterAll(() => serving.end())

const register = async (types: unknown[], key = keys.plain) => {
  const response = await serving.call('POST', '/worker/register', { name: 'w', types }, key)
  return { status: response.status, ...((await response.json()) as Answer) }
}
const known = async (name: string) => {
  const { rows } = await serving.sql.query(
    `select to_jsonb(t) - '{id,registered_at}'::text[] as type, to_jsonb(g) as gate
     from holdfast.types as t left join holdfast.gates as g on g.type_id = t.id where t.name = $1`,
    [name],
  )
  return rows[0]
}
const audited = async (target: string) =>
  (await serving.holdfast.audit({ target })).map(({ actor, action, before, after, origin }) => ({
    actor,
    action,
    before,
    after,
    origin,
  }))

describe('a registration over HTTP', () => {
  test.each([
    ['lane', { lane: 'default' }],
    ['sensitive', { sensitive: false }],
    ['lane', { lane: 'default', sensitive: false, max_attempts: 1 }],
  ])('does not change what a type is guarded by: %s', async (field, change) => {
    const before = await known('pay')
    for (const key of [keys.plain, keys.keeper]) {
      const answer = await register(['greet', { type: 'pay', ...change }], key)
      expect(answer).toMatchObject({ status: 409, code: 'conflict', field: `types[1].${field}` })
      for (const named of Object.keys(change).filter((name) => name !== 'max_attempts')) expect(answer.detail).toContain(named)
    }
    expect(await known('pay')).toEqual(before)
    expect(await audited('pay')).toEqual([])
  })

  test('leaves everything it does not name as it is: approval, uniqueness, limits, lane and the rest', async () => {
    const before = await known('pay')
    expect(before.type).toMatchObject({ approval: { quorum: 2 }, sensitive: true })
    expect((await register([{ type: 'pay' }])).status).toBe(201)
    expect(
      (await register([{ type: 'pay', lane: 'interactive', sensitive: true, max_attempts: 4, timeout: '120s' }])).status,
    ).toBe(201)
    expect(await known('pay')).toEqual(before)
    expect(await audited('pay')).toEqual([])
  })

  test('changes what it names only with types:manage, and says so in the audit log', async () => {
    const before = await known('greet')
    const change = { type: 'greet', max_attempts: 9, backoff: { base: '2m' } }
    const refused = await register([change])
    expect(refused).toMatchObject({ status: 403, code: 'forbidden', field: 'types[0].max_attempts' })
    expect(refused.detail).toMatch(/max_attempts, backoff.*types:manage/)
    expect(await known('greet')).toEqual(before)
    expect((await register([change], keys.keeper)).status).toBe(201)
    const backoff = { base: 120_000, factor: 2, cap: 3_600_000, jitter: expect.any(Number) }
    expect((await known('greet')).type).toEqual({ ...before.type, max_attempts: 9, backoff })
    expect(await audited('greet')).toEqual([
      {
        ...{ actor: 'keeper', action: 'change_type', origin: expect.stringMatching(/127\.0\.0\.1/) },
        before: { max_attempts: 5, backoff: before.type.backoff },
        after: { max_attempts: 9, backoff },
      },
    ])
    expect((await register([change])).status).toBe(201)
    expect(await audited('greet')).toHaveLength(1)
  })

  test('says what a type uses: of a new one whoever registers it, of a known one only with types:manage', async () => {
    const charge = { type: 'charge', uses: ['stripe', 'ledger', 'stripe'] }
    await serving.holdfast.flow.limitDependency('stripe', { maxRunning: 1 }, who, { create: true })
    const answers = await Promise.all(Array.from({ length: 4 }, () => register([charge])))
    expect(answers.map(({ status }) => status)).toEqual(Array(4).fill(201))
    expect((await serving.holdfast.flow.gate('charge'))?.uses).toEqual(['ledger', 'stripe'])
    expect(await audited('charge')).toMatchObject([
      { actor: 'plain', action: 'define_type', after: { uses: ['ledger', 'stripe'] } },
    ])
    await serving.holdfast.enqueueMany([1, 2, 3].map((n) => ({ type: 'charge', payload: { n } })))
    const { worker } = answers[0]
    const claimed = async () =>
      ((await (await serving.call('POST', '/worker/claim', { worker, limit: 10 }, keys.plain)).json()) as Answer).jobs.length
    expect([await claimed(), await claimed()]).toEqual([1, 0])

    const other = { type: 'charge', uses: ['ledger'] }
    expect(await register([other])).toMatchObject({ status: 403, code: 'forbidden', field: 'types[0].uses' })
    expect((await register([other, { type: 'greet', uses: ['stripe'] }], keys.keeper)).status).toBe(201)
    expect((await serving.holdfast.flow.dependency('stripe')).types).toEqual(['greet'])
    expect((await audited('charge'))[0]).toMatchObject({
      ...{ actor: 'keeper', action: 'change_type' },
      ...{ before: { uses: ['ledger', 'stripe'] }, after: { uses: ['ledger'] } },
    })
    expect(await claimed()).toBe(2)
    expect((await register([{ type: 'greet', uses: [] }], keys.keeper)).status).toBe(201)
    expect(await register([{ type: 'charge', uses: ['no spaces'] }])).toMatchObject({ status: 400, field: 'types[0].uses[0]' })
  })

  test('defines a type nobody knows, once, however many come at once, with a line in the audit log', async () => {
    const definition = { type: 'from.afar', lane: 'maintenance', sensitive: true, priority: 2 }
    const answers = await Promise.all(Array.from({ length: 8 }, () => register([definition, 'greet'])))
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(201))
    expect(await audited('from.afar')).toMatchObject([
      {
        actor: 'plain',
        action: 'define_type',
        before: null,
        after: { lane: 'maintenance', sensitive: true, priority: 2, max_attempts: 5 },
      },
    ])
    expect(await register([{ type: 'lost', lane: 'nowhere' }])).toMatchObject({
      status: 422,
      code: 'unknown_lane',
      field: 'types[0].lane',
    })
  })
})
