import { randomBytes } from 'node:crypto'
import { defineType, Holdfast, type HoldfastOptions } from 'holdfast'
import { describe, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const secret = 'the-secret-4111111111111111'
const key = () => randomBytes(32).toString('base64')
const [november, december] = [key(), key()]
const keys = { '2026-11': november }
const inNovember = { encryption: { keys, current: '2026-11' } }

/** The same database, seen by a process with these settings. */
function as(queue: Queue, options: HoldfastOptions): Queue & { holdfast: Holdfast } {
  const holdfast = new Holdfast({ connectionString: queue.url, ...options })
  onTestFinished(() => holdfast.close())
  return { ...queue, holdfast }
}
const bodies = (queue: Queue) =>
  queue.sql('select id, payload::text as payload, payload as parsed from holdfast.bodies order by id')
const settled = (queue: Queue, id: string) =>
  eventually(async () => {
    const job = await queue.holdfast.job(id)
    return job && ['completed', 'dead'].includes(job.status) ? job : undefined
  })

describe('a type that is encrypted', () => {
  test('is stored as an envelope without a word of its payload, and its handler gets the payload', async () => {
    const queue = as(await makeQueue(), inNovember)
    const seen: unknown[] = []
    const type = defineType({ type: 'charge', encrypt: true, run: (payload) => void seen.push(payload) })
    const { id } = await queue.holdfast.enqueue(type, { card: secret })
    const byName = await queue.holdfast.enqueueMany([
      { type: 'charge', payload: secret },
      { type: 'charge', payload: [secret], idempotencyKey: 'k' },
    ])
    const stored = await bodies(queue)
    expect(stored).toHaveLength(3)
    for (const { payload, parsed } of stored) {
      expect(payload).not.toContain('secret')
      expect(parsed).toEqual({
        $enc: { k: '2026-11', iv: expect.any(String), ct: expect.any(String), tag: expect.any(String) },
      })
    }
    expect(new Set(stored.map(({ parsed }) => parsed.$enc.iv)).size).toBe(3)
    expect((await queue.holdfast.job(id))?.payload).toEqual({ $encrypted: '2026-11' })
    await startHere(queue, [type])
    for (const job of [id, ...byName.map((one) => one.id)]) expect((await settled(queue, job)).status).toBe('completed')
    expect(seen).toEqual(expect.arrayContaining([{ card: secret }, secret, [secret]]))
  })

  test('is not taken unencrypted by anybody: the SDK without keys, SQL, or a replay', async () => {
    const queue = await makeQueue()
    const type = defineType({ type: 'charge', encrypt: true })
    await queue.holdfast.registerTypes([type])
    const refused = { code: 'encryption_keys_missing', field: 'encryption' }
    await expect(queue.holdfast.enqueue(type, { card: secret })).rejects.toMatchObject(refused)
    await expect(queue.holdfast.enqueue('charge', { card: secret })).rejects.toMatchObject(refused)
    const many = [1, 2].map((n) => ({ type: 'charge', payload: n }))
    await expect(queue.holdfast.enqueueMany(many)).rejects.toMatchObject(refused)
    await expect(queue.sql(`select holdfast.enqueue('charge', '{"card": 1}')`)).rejects.toThrow('have to be encrypted')
    expect(await bodies(queue)).toEqual([])
    const { id } = await as(queue, inNovember).holdfast.enqueue(type, { n: 1 })
    await queue.sql(`with gone as (delete from holdfast.queue returning *)
      insert into holdfast.dead_letters select job_id, holdfast.now(), type_id, priority, attempt, 'exhausted', '{}' from gone`)
    const replay = queue.holdfast.deadLetters.replay(id, { by: 'ada' }, { payload: { card: secret } })
    await expect(replay).rejects.toMatchObject(refused)
    await expect(queue.sql(`select holdfast.replay_dead(array[$1::uuid], '{}', holdfast.actor('ada'))`, [id])).rejects.toThrow(
      'have to be encrypted',
    )
  })

  test('is encrypted in the transaction of the caller as well, and for every type with all', async () => {
    const queue = as(await makeQueue(), { encryption: { keys, current: '2026-11', all: true } })
    await queue.holdfast.registerTypes([defineType({ type: 'plain' })])
    const client = await queue.connect()
    await client.query('begin')
    await queue.holdfast.enqueue('plain', { card: secret }, { tx: client })
    await client.query('commit')
    expect((await bodies(queue))[0]?.parsed.$enc.k).toBe('2026-11')
  })

  test('keeps its checkpoints encrypted, in which the next attempt finds what the last one kept', async () => {
    const queue = as(await makeQueue(), inNovember)
    const found: unknown[] = []
    const type = defineType({
      type: 'charge',
      encrypt: true,
      backoff: { base: 1, jitter: 0 },
      async run(_, { checkpoint, lastCheckpoint }) {
        found.push(await lastCheckpoint())
        await checkpoint({ card: secret })
        if (found.length === 1) throw new Error('again')
      },
    })
    await startHere(queue, [type])
    await settled(queue, (await queue.holdfast.enqueue(type, {})).id)
    expect(found).toEqual([undefined, { card: secret }])
    const [kept] = await queue.sql('select value::text as value from holdfast.checkpoints')
    expect(kept?.value).toMatch(/^\{"\$enc":\{"k":"2026-11"/)
  })

  test('is replayed with a new payload that is encrypted too', async () => {
    const queue = as(await makeQueue(), inNovember)
    const seen: unknown[] = []
    const run = (payload: unknown) => {
      seen.push(payload)
      if (seen.length === 1) throw new Error('no')
    }
    const type = defineType({ type: 'charge', encrypt: true, maxAttempts: 1, run })
    await startHere(queue, [type])
    const { id } = await queue.holdfast.enqueue(type, { n: 1 })
    expect((await settled(queue, id)).status).toBe('dead')
    await queue.holdfast.deadLetters.replay(id, { by: 'ada' }, { payload: { card: secret } })
    await eventually(async () => (await queue.holdfast.job(id))?.status === 'completed')
    expect(seen).toEqual([{ n: 1 }, { card: secret }])
    expect(JSON.stringify([await bodies(queue), await queue.sql('select * from holdfast.moves')])).not.toContain('secret')
  })
})

describe('what cannot be decrypted', () => {
  const type = defineType({ type: 'charge', encrypt: true, run() {} })

  test('ends dead at once and names the key that is missing; with the key it can be replayed', async () => {
    const queue = as(await makeQueue(), inNovember)
    const { id } = await queue.holdfast.enqueue(type, { card: secret })
    const without = as(queue, { encryption: { keys: { '2026-12': december }, current: '2026-12' } })
    const worker = await startHere(without, [type])
    const dead = await settled(queue, id)
    await worker.stop()
    expect(dead).toMatchObject({ status: 'dead', attempts: [{ outcome: 'failed', error: { name: 'FatalError' } }] })
    expect(JSON.stringify(dead.attempts)).toContain('is encrypted with the key \\"2026-11\\", which this process does not have')
    await queue.holdfast.deadLetters.replay(id, { by: 'ada' })
    await startHere(queue, [type])
    await eventually(async () => (await queue.holdfast.job(id))?.status === 'completed')
  })

  test.each([
    ['a worker without keys', {}, (payload: string) => payload, /key \\"2026-11\\", which this process/],
    [
      'a changed byte',
      inNovember,
      (payload: string) => payload.replace(/"ct":"(.)/, (_, c) => `"ct":"${c === 'A' ? 'B' : 'A'}`),
      /cannot be decrypted with the key \\"2026-11\\"/,
    ],
    ['a shortened tag', inNovember, (payload: string) => payload.replace(/"tag":"[^"]*"/, '"tag":"AAAA"'), /cannot be decrypted/],
    ['a form nobody knows', inNovember, () => '{"$enc":{"k":7}}', /form that is not known/],
    [
      'another key of that name',
      { encryption: { keys: { '2026-11': december }, current: '2026-11' } },
      (payload: string) => payload,
      /cannot be decrypted/,
    ],
  ])('%s: is fatal, reports, and shows nothing', async (_, options, change, message) => {
    const queue = as(await makeQueue(), inNovember)
    const { id } = await queue.holdfast.enqueue(type, { card: secret }, { delay: '1h' })
    const [body] = await bodies(queue)
    await queue.sql('update holdfast.bodies set payload = $1::json', [change(body?.payload)])
    await startHere(as(queue, options), [type])
    await queue.holdfast.runNow(id, { by: 'ada' })
    const dead = await settled(queue, id)
    expect(dead.status).toBe('dead')
    expect(dead.attempts).toHaveLength(1)
    expect(JSON.stringify(dead.attempts)).toMatch(message)
    expect(JSON.stringify(dead)).not.toContain('secret')
  })

  test('an envelope of one job is of no use in another', async () => {
    const queue = as(await makeQueue(), inNovember)
    const [one, two] = await queue.holdfast.enqueueMany([1, 2].map((n) => type.job({ n, card: secret }, { delay: '1h' })))
    await queue.sql('update holdfast.bodies set payload = (select payload from holdfast.bodies where id = $1) where id = $2', [
      one?.id,
      two?.id,
    ])
    await startHere(queue, [type])
    for (const job of [one, two]) await queue.holdfast.runNow(job?.id as string, { by: 'ada' })
    expect((await settled(queue, one?.id as string)).status).toBe('completed')
    const dead = await settled(queue, two?.id as string)
    expect(JSON.stringify(dead.attempts)).toContain('was encrypted for another job')
  })
})

describe('what cannot be had with encryption', () => {
  test('is refused at the definition: uniqueness by the payload, and whatever replaces a payload', () => {
    const define = (unique: object) => () => defineType({ type: 'charge', encrypt: true, unique })
    expect(define({ by: 'payload' })).toThrow('cannot be used with charge, whose payload is stored encrypted')
    expect(define({})).toThrow('give unique.key')
    expect(define({ by: ['card'] })).toThrow('give unique.key')
    for (const onConflict of ['replace', 'one_more']) expect(define({ key: 'k', onConflict })).toThrow('use reject or existing')
    expect(define({ key: 'k', onConflict: 'existing' })).not.toThrow()
  })

  test('is refused at enqueue: the same by option, payloads that are too large encrypted, and what looks encrypted', async () => {
    const queue = as(await makeQueue(), inNovember)
    const type = defineType({ type: 'charge', encrypt: true })
    await expect(queue.holdfast.enqueue(type, {}, { unique: {} })).rejects.toMatchObject({ field: 'unique.by' })
    await expect(queue.holdfast.enqueue(type, 'x'.repeat(60_000))).rejects.toMatchObject({ code: 'payload_too_large' })
    await expect(queue.holdfast.enqueue(type, { $enc: { k: 'x' } })).rejects.toMatchObject({ code: 'invalid_payload' })
    const first = await queue.holdfast.enqueue(type, { n: 1 }, { unique: { key: 'k', onConflict: 'existing' } })
    expect(await queue.holdfast.enqueue(type, { n: 2 }, { unique: { key: 'k', onConflict: 'existing' } })).toEqual({
      id: first.id,
      status: 'existing',
    })
  })

  test('a configuration that is wrong says everything at once, and no key', () => {
    const make = () =>
      new Holdfast({
        connectionString: 'postgres://x',
        encryption: { keys: { 'a b': november, short: 'c2hvcnQ=' }, current: 'none' },
      })
    expect(make).toThrow(
      /keys\["a b"\] has a name[\s\S]*keys\.short must be 32 bytes[\s\S]*is "none", and there is no such key; there are a b, short/,
    )
    try {
      make()
    } catch (error) {
      expect(String(error)).not.toContain('c2hvcnQ')
    }
  })
})
