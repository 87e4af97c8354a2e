import { defineType, Holdfast } from 'holdfast'
import { type ScratchQueue, scratchQueue } from 'holdfast/testing'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const ran: unknown[] = []
const imported = defineType({
  type: 'imported',
  run(payload) {
    ran.push(payload)
  },
})

let queue: ScratchQueue
let holdfast: Holdfast

beforeAll(async () => {
  queue = await scratchQueue()
  holdfast = new Holdfast({ connectionString: queue.connectionString, connections: 30 })
})
afterAll(async () => {
  await holdfast.close()
  await queue.close()
})

/** A UUIDv7 of that time, the last part told apart by a number. */
function idAt(time: string | number, n = 1): string {
  const hex = new Date(time).getTime().toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${n.toString(16).padStart(12, '0')}`
}

describe("a producer's own id", () => {
  test('is the id of the job, and a second enqueue with it answers with the first job', async () => {
    const id = idAt(Date.now())
    expect(await holdfast.enqueue(imported, { a: 1, b: 2 }, { id })).toEqual({ id, status: 'created' })
    expect(await holdfast.enqueue(imported, { b: 2, a: 1 }, { id: id.toUpperCase() })).toEqual({ id, status: 'existing' })
    await queue.drain([imported])
    expect(await holdfast.enqueue(imported, { a: 1, b: 2 }, { id })).toEqual({ id, status: 'existing' })
    expect((await queue.drain([imported])).jobs).toEqual([])
  })

  test('is refused for something else: another payload or another type', async () => {
    const id = idAt(Date.now(), 50)
    await holdfast.enqueue(imported, 'first', { id })
    const other = defineType({ type: 'other', unique: { key: 'any', onConflict: 'existing' } })
    await holdfast.registerTypes([other])
    const refused = { code: 'id_conflict', status: 409, field: 'id', retryable: false }
    await expect(holdfast.enqueue(imported, 'second', { id })).rejects.toMatchObject({
      ...refused,
      message: `id ${id} belongs to another job: its payload is another one`,
    })
    await expect(holdfast.enqueue(other, 'first', { id })).rejects.toMatchObject({
      ...refused,
      message: `id ${id} belongs to another job: its type is imported`,
    })
    await expect(holdfast.enqueueMany([imported.job('new'), imported.job('second', { id })])).rejects.toMatchObject(refused)
    expect((await queue.drain([imported])).completed).toMatchObject([{ id, payload: 'first' }])
  })

  test('answers with its job where another enqueue has replaced the payload since', async () => {
    const id = idAt(Date.now(), 51)
    const unique = { key: 'k', onConflict: 'replace' } as const
    await holdfast.enqueue(imported, 'first', { id, unique })
    expect(await holdfast.enqueue(imported, 'second', { unique })).toEqual({ id, status: 'replaced' })
    expect(await holdfast.enqueue(imported, 'first', { id, unique })).toEqual({ id, status: 'existing' })
    expect((await queue.drain([imported])).completed).toMatchObject([{ id, payload: 'second' }])
  })

  test('makes one job of 30 enqueues at the same moment', async () => {
    for (let round = 0; round < 10; round++) {
      const id = idAt(Date.now(), round + 100)
      const answers = await Promise.all(Array.from({ length: 30 }, () => holdfast.enqueue(imported, round, { id })))
      expect(answers.filter((answer) => answer.status === 'created')).toHaveLength(1)
      expect(answers.every((answer) => answer.id === id)).toBe(true)
    }
    expect((await queue.drain([imported])).completed).toHaveLength(10)
  })

  test('may come many at once in any order, without a deadlock, one job each', async () => {
    const ids = Array.from({ length: 300 }, (_, n) => idAt(Date.now() + 5_000, n))
    const enqueue = (order: readonly string[]) => holdfast.enqueueMany(order.map((id) => imported.job(id, { id })))
    const answers = await Promise.all([enqueue(ids), enqueue(ids.toReversed()), enqueue(ids), enqueue(ids.toReversed())])
    expect(answers.flat().filter((answer) => answer.status === 'created')).toHaveLength(300)
    expect((await queue.drain([imported])).completed).toHaveLength(300)
  })

  test.each([
    ['1970-01-02', 'at the beginning of time'],
    ['2001-09-09', 'decades ago'],
    ['2150-01-01', 'in the next century'],
    [2 ** 48 - 1, 'at the end of what an id can say'],
  ])('may bear a time far away (%s, %s): the job is kept and runs now', async (time, _when) => {
    const id = idAt(time, 7)
    expect((await holdfast.enqueue(imported, String(time), { id })).status).toBe('created')
    expect((await holdfast.enqueue(imported, String(time), { id })).status).toBe('existing')
    const { completed } = await queue.drain([imported])
    expect(completed).toMatchObject([{ id, payload: String(time) }])
    expect(await holdfast.job(id)).toMatchObject({ status: 'completed' })
  })

  test('together with a key that another job has answers with that job, and takes nothing', async () => {
    const first = await holdfast.enqueue(imported, 1, { idempotencyKey: 'held' })
    const id = idAt(Date.now(), 900)
    expect(await holdfast.enqueue(imported, 2, { id, idempotencyKey: 'held' })).toEqual({ id: first.id, status: 'existing' })
    expect(await holdfast.job(id)).toBeUndefined()
    expect((await holdfast.enqueue(imported, 3, { id })).status).toBe('created')
  })

  test('that exists does not take the key that came with it', async () => {
    const id = idAt(Date.now(), 901)
    await holdfast.enqueue(imported, 1, { id })
    expect((await holdfast.enqueue(imported, 1, { id, idempotencyKey: 'left free' })).status).toBe('existing')
    expect((await holdfast.enqueue(imported, 2, { idempotencyKey: 'left free' })).status).toBe('created')
  })

  test('given twice in one call is refused, since one of the two would be lost', async () => {
    const id = idAt(Date.now(), 902)
    const twice = holdfast.enqueueMany([imported.job(1, { id }), imported.job(2, { id: id.toUpperCase() })])
    await expect(twice).rejects.toMatchObject({
      code: 'invalid_option',
      field: 'id',
      message: `id ${id} is given to two jobs of one enqueue`,
    })
  })

  test('waits for a first transaction that is still open, and follows how it ends', async () => {
    for (const [end, status] of [
      ['rollback', 'created'],
      ['commit', 'existing'],
    ] as const) {
      const id = idAt(Date.now(), end.length + 1_000)
      const client = new pg.Client({ connectionString: queue.connectionString })
      await client.connect()
      await client.query('begin')
      await holdfast.enqueue(imported, 'first', { id, tx: client })
      let answered = false
      const second = holdfast.enqueue(imported, 'first', { id }).finally(() => (answered = true))
      await holdfast.enqueue(imported, 'others need not wait')
      expect(answered).toBe(false)
      await client.query(end)
      expect(await second).toEqual({ id, status })
      await client.end()
    }
  })
})
