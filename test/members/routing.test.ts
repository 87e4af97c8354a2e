import { defineType } from 'holdfast'
import { describe, expect, test } from 'vitest'
import { memberOf, routedPart } from '../../src/members/route.js'
import { makeMembers } from '../support/members.js'

const mail = defineType({ type: 'send_email' })
const names = ['eu', 'us', 'ap']

test('ten thousand keys belong to the same members in the library and in SQL', async () => {
  const { sql } = await makeMembers(['eu'])
  const keys = Array.from(
    { length: 10_000 },
    (_, n) => [`customer-${n}`, `{käse ${n}}/order`, `a{}${n}`, `${n}/{x}{y}`][n % 4] as string,
  )
  const rows = await sql(
    'eu',
    'select holdfast.member_of(k, $2) as member from unnest($1::text[]) with ordinality as k (k, n) order by n',
    [keys, names],
  )
  expect(rows.map(({ member }) => member)).toEqual(keys.map((key) => memberOf(key, names)))
  for (const name of names) expect(rows.filter(({ member }) => member === name).length).toBeGreaterThan(2_000)
})

test('of four members a new one takes over a quarter of the keys, and no other key moves', () => {
  const keys = Array.from({ length: 4_000 }, (_, n) => `customer-${n}`)
  const moved = keys.filter((key) => memberOf(key, [...names, 'sa']) !== memberOf(key, names))
  expect(moved.every((key) => memberOf(key, [...names, 'sa']) === 'sa')).toBe(true)
  expect(moved.length).toBeGreaterThan(800)
  expect(moved.length).toBeLessThan(1_200)
})

test('a key with braces is routed by what stands in the first of them', () => {
  expect(['plain', '{customer-7}/order-9', 'order-{9}-{10}', '{}', '{', 'a}b{'].map(routedPart)).toEqual(
    ['plain', 'customer-7', '9', '{}', '{', 'a}b{'], // biome-ignore format: beside what it is of
  )
})

describe('a job without data of its own', () => {
  test('is stored in the member of its key, and its id says which one that is', async () => {
    const { holdfasts, sql } = await makeMembers(['eu', 'us'])
    await holdfasts.registerTypes([mail])
    for (const key of ['customer-1', 'customer-2', 'customer-3', 'customer-4']) {
      const { id, member } = await holdfasts.enqueue(mail, key, { key })
      expect(member).toBe(memberOf(key, ['eu', 'us']))
      expect(member).toBe(await holdfasts.memberOf(key))
      const [name, own] = id.split(':') as [string, string]
      expect(name).toBe(member)
      expect(await sql(member, 'select type from holdfast.jobs where id = $1', [own])).toEqual([{ type: 'send_email' }])
    }
  })

  test('is routed by its idempotency key, its unique key or its concurrency key where no key is given', async () => {
    const { holdfasts } = await makeMembers(['eu', 'us'])
    await holdfasts.registerTypes([mail])
    for (const key of ['a', 'b', 'c', 'd']) {
      const member = memberOf(key, ['eu', 'us'])
      expect(await holdfasts.enqueue(mail, 1, { idempotencyKey: key })).toMatchObject({ member, status: 'created' })
      expect(await holdfasts.enqueue(mail, 1, { idempotencyKey: key })).toMatchObject({ member, status: 'existing' })
      expect(await holdfasts.enqueue(mail, 1, { unique: { key: `{${key}}/welcome` } })).toMatchObject({ member })
      expect(await holdfasts.enqueue(mail, 1, { concurrencyKey: key })).toMatchObject({ member })
    }
    const spread = await Promise.all(Array.from({ length: 20 }, () => holdfasts.enqueue(mail, 1)))
    expect(new Set(spread.map(({ member }) => member))).toEqual(new Set(['eu', 'us']))
  })

  test('is refused where its idempotency or unique key could be looked for in another member', async () => {
    const { holdfasts } = await makeMembers(['eu', 'us'])
    await holdfasts.registerTypes([mail, defineType({ type: 'sync', unique: { by: 'payload' } })])
    const refused = (options: object) => expect(holdfasts.enqueue(mail, 1, options)).rejects
    await refused({ key: 'customer-7', idempotencyKey: 'order-9' }).toMatchObject({ code: 'invalid_option', field: 'key' })
    await refused({ idempotencyKey: 'a', unique: { key: 'b' } }).toThrow(/idempotencyKey is "a", and unique.key is "b"/)
    await refused({ key: 'a', unique: { by: 'payload' } }).toThrow(/made from the payload, which says nothing of the member/)
    await expect(holdfasts.enqueue('sync', 1, { key: 'a' })).rejects.toThrow(/unique of sync is made from the payload/)
    await expect(
      holdfasts.enqueueMany([mail.job(1, { idempotencyKey: 'a' }), mail.job(2, { idempotencyKey: 'b' })]),
    ).rejects.toThrow(/may belong to another member/)
    // Routed by the same part, or to a member by its name, they meet.
    expect(await holdfasts.enqueue(mail, 1, { key: 'customer-7', idempotencyKey: '{customer-7}/9' })).toMatchObject({
      status: 'created',
    })
    expect(await holdfasts.enqueue('sync', 1, { member: 'us' })).toMatchObject({ member: 'us' })
    const all = await holdfasts.enqueueMany([mail.job(1, { idempotencyKey: '{c}1' }), mail.job(2, { idempotencyKey: '{c}2' })])
    expect(new Set(all.map(({ member }) => member))).toEqual(new Set([memberOf('c', ['eu', 'us'])]))
  })

  test('is refused with what would be right where its options say two things, or nothing that exists', async () => {
    const { holdfasts } = await makeMembers(['eu', 'us'])
    await expect(holdfasts.enqueue(mail, 1, { key: 'a', member: 'eu' })).rejects.toThrow('key and member exclude each other')
    await expect(holdfasts.enqueue(mail, 1, { key: '' })).rejects.toMatchObject({ field: 'key' })
    await expect(holdfasts.enqueue(mail, 1, { member: 'ue' })).rejects.toThrow(/member is "ue"; there are eu, us/)
  })
})
