import { defineType } from 'holdfast'
import { describe, expect, test } from 'vitest'
import { makeQueue, type Queue } from '../support/queue.js'

const order = defineType({ type: 'order', searchable: ['order.id', 'tags', 'total'] })
const plain = defineType({ type: 'plain' })

async function found({ holdfast }: Queue, payload: object, type = 'order'): Promise<{ ids: string[]; next: string | null }> {
  const { jobs, next } = await holdfast.jobs({ type, payload })
  return { ids: jobs.map(({ id }) => id), next }
}

describe('what stands at a searchable path of a payload', () => {
  test('finds its job, however many others are newer', async () => {
    const queue = await makeQueue()
    const { holdfast, sql } = queue
    const { id } = await holdfast.enqueue(order, { order: { id: 'A-7' }, tags: ['new', 'vip'], total: 12.5, note: 'gift' })
    await holdfast.enqueueMany(
      Array.from({ length: 2_500 }, (_, n) => order.job({ order: { id: `B-${n}` }, tags: ['old'], total: n })),
    )
    const jobs = Array.from({ length: 150 }, (_, n) => (n % 2 ? plain : order).job({ order: { id: 'C-1' }, total: '12.5' }))
    await holdfast.enqueueMany(jobs)
    const it = { ids: [id], next: null }
    expect(await found(queue, { order: { id: 'A-7' } })).toEqual(it)
    expect(await found(queue, { tags: ['vip'] })).toEqual(it)
    expect(await found(queue, { total: 12.5, note: 'gift' })).toEqual(it)
    expect(await found(queue, { order: { id: 'A-8' } })).toEqual({ ids: [], next: null })
    // What is not declared is looked for job by job, as far as one page looks.
    expect((await found(queue, { note: 'gift' })).next).not.toBeNull()
    const [same] =
      await sql(`select holdfast.search_keys('["n"]', '{"n": 1.50}') = holdfast.search_keys('["n"]', '{"n": 1.5}') as same,
                                     holdfast.search_keys('["n.0", "m"]', '{"n": [1], "m": {}}') as none`)
    expect(same).toEqual({ same: true, none: null })
  })

  test('is known of every job, whichever way it was enqueued, and of the payload that it has now', async () => {
    const queue = await makeQueue()
    const { holdfast, sql } = queue
    const paid = { order: { id: 'paid' } }
    const keysOf = async (id: string) =>
      (await sql('select search_keys is not null as has from holdfast.bodies where id = $1', [id]))[0]?.has
    const { id: first } = await holdfast.enqueue(order, paid)
    const { id: delayed } = await holdfast.enqueue(order, paid, { delay: '1h' })
    const many = await holdfast.enqueueMany([order.job(paid), order.job(paid), plain.job(paid)])
    const [bySql] = await sql(`select id from holdfast.enqueue('order', '{"order": {"id": "paid"}}')`)
    const behind = { unique: { key: 'k', onConflict: 'one_more' } } as const
    await holdfast.enqueue(order, { order: { id: 'running' } }, behind)
    const ids = [first, delayed, many[0]?.id, many[1]?.id, bySql?.id]
    for (const id of ids) expect(await keysOf(id as string)).toBe(true)
    expect(await keysOf(many[2]?.id as string)).toBe(false)
    expect((await found(queue, paid)).ids.sort()).toEqual(ids.sort())

    const replace = { unique: { key: 'r', onConflict: 'replace' }, delay: '1h' } as const
    const { id: replaced } = await holdfast.enqueue(order, { order: { id: 'before' } }, replace)
    await holdfast.enqueue(order, { order: { id: 'after' } }, replace)
    await holdfast.bury(first, { by: 'ada' })
    await holdfast.deadLetters.replay(first, { by: 'ada' }, { payload: { order: { id: 'changed' } } })
    const keyed = async (text: string) => {
      const rows = await sql(
        `select id from holdfast.bodies where search_keys @> holdfast.search_keys('["order.id"]', $1::jsonb)`,
        [JSON.stringify({ order: { id: text } })],
      )
      return rows.map(({ id }) => id)
    }
    expect(await Promise.all(['before', 'after', 'changed'].map(keyed))).toEqual([[], [replaced], [first]])
  })

  test('finds jobs from before their type said so, one by one', async () => {
    const queue = await makeQueue()
    const { holdfast } = queue
    const { id } = await holdfast.enqueue(plain, { n: 7 })
    await holdfast.enqueueMany(Array.from({ length: 300 }, (_, n) => plain.job({ n: n + 100 })))
    await holdfast.flow.defineType('plain', { searchable: ['n'] }, { by: 'ada' })
    expect((await holdfast.flow.type('plain'))?.searchable).toEqual(['n'])
    const { id: later } = await holdfast.enqueue(plain, { n: 7 })
    expect((await found(queue, { n: 7 }, 'plain')).ids).toEqual([later, id])
  })

  test('is refused where it would reveal what people are not shown, or could never be found', () => {
    const define = (definition: object) => () => defineType({ type: 'mail', ...definition })
    expect(define({ searchable: ['card'], redact: ['card.number'] })).toThrow(
      /searchable has card, which redact keeps from people/,
    )
    expect(define({ searchable: ['items.id'], redact: ['items[].id'] })).toThrow(/searchable has items.id/)
    expect(define({ searchable: ['to'], encrypt: true })).toThrow(/the database cannot read the payload/)
    for (const searchable of [['items[].id'], ['a..b'], [''], 'to', Array(9).fill('a')])
      expect(define({ searchable })).toThrow(/searchable must be a list of at most 8 paths/)
  })
})
