import { randomBytes } from 'node:crypto'
import { defineType, Holdfast } from 'holdfast'
import { describe, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const handlers = new URL('../support/returning-handlers.mjs', import.meta.url)
const kept = (queue: Queue) => queue.sql('select job_id, result::text as text from holdfast.results')

async function ended(queue: Queue, id: string) {
  return eventually(async () => {
    const job = await queue.holdfast.job(id)
    return job && ['completed', 'dead'].includes(job.status) && job
  })
}

describe.each(['inline', 'thread', 'process'])('what a handler returns (%s)', (where) => {
  test('is kept with its job exactly, and nothing is kept where it returns nothing', async () => {
    const queue = await makeQueue()
    await startHere(queue, handlers)
    const values = [{ total: 7, list: [1.5, null, 'ü "'], deep: { no: false } }, null, 0, '', [], { __proto__: null }]
    for (const value of values) {
      const { id } = await queue.holdfast.enqueue(`returns_${where}`, { what: 'value', value })
      const job = await ended(queue, id)
      expect(job).toMatchObject({ status: 'completed' })
      expect(job.result).toEqual(value)
    }
    expect(await kept(queue)).toHaveLength(values.length)
    const { id } = await queue.holdfast.enqueue(`returns_${where}`, { what: 'nothing' })
    expect(await ended(queue, id)).toMatchObject({ status: 'completed', result: undefined })
    expect(await kept(queue)).toHaveLength(values.length)
  }, 60_000)

  test('ends the job dead where it cannot be kept, at the first attempt and with a code', async () => {
    const queue = await makeQueue()
    await startHere(queue, handlers)
    const cases = [
      { payload: { what: 'tooLarge', bytes: 65_535 }, code: 'result_too_large', message: 'result is 65537 bytes; at most 65536' },
      { payload: { what: 'circular' }, code: 'invalid_result', message: 'result.self is circular' },
      { payload: { what: 'date' }, code: 'invalid_result', message: 'result.at is a Date' },
      { payload: { what: 'bigint' }, code: 'invalid_result', message: 'result.list[0] is a BigInt' },
      { payload: { what: 'envelope' }, code: 'invalid_result', message: '$enc' },
    ]
    for (const { payload, code, message } of cases) {
      const { id } = await queue.holdfast.enqueue(`returns_${where}`, payload)
      const job = await ended(queue, id)
      expect(job).toMatchObject({ status: 'dead', result: undefined })
      expect(job.attempts).toMatchObject([{ outcome: 'failed', error: { code, message: expect.stringContaining(message) } }])
      expect(await queue.holdfast.deadLetters.get(id)).toMatchObject({ reason: 'fatal' })
    }
    expect(await kept(queue)).toEqual([])
  }, 60_000)
})

test('a type may keep more, and may keep nothing whatever is returned', async () => {
  const queue = await makeQueue()
  await startHere(queue, handlers)
  const much = await queue.holdfast.enqueue('returns_much', { what: 'tooLarge', bytes: 199_998 })
  expect((await ended(queue, much.id)).result).toHaveLength(199_998)
  for (const what of ['tooLarge', 'circular', 'bigint']) {
    const { id } = await queue.holdfast.enqueue('returns_for_nobody', { what, bytes: 1_000_000 })
    expect(await ended(queue, id)).toMatchObject({ status: 'completed', result: undefined })
  }
  const define = (more: object) => () => defineType({ type: 'x', ...more })
  expect(define({ maxResultBytes: 1_048_577 })).toThrow('maxResultBytes is 1048577; it must be a whole number from 1 to 1048576')
  expect(define({ maxResultBytes: 9, keepResult: false })).toThrow('maxResultBytes has no use with keepResult: false')
  expect(define({ keepResult: 'no' })).toThrow('keepResult is "no"; it must be true or false')
})

test('a result is encrypted as its payload is, and follows it to a new key', async () => {
  const plain = await makeQueue()
  const keys = { old: randomBytes(32).toString('base64'), new: randomBytes(32).toString('base64') }
  const as = (current: 'old' | 'new', names: ('old' | 'new')[]): Queue => {
    const encryption = { keys: Object.fromEntries(names.map((name) => [name, keys[name]])), current }
    const holdfast = new Holdfast({ connectionString: plain.url, encryption })
    onTestFinished(() => holdfast.close())
    return { ...plain, holdfast }
  }
  const old = as('old', ['old'])
  // As large as a type keeps by default, which the envelope around it is not.
  const charge = defineType({ type: 'charge', encrypt: true, run: () => ({ receipt: 'r'.repeat(65_520) }) })
  await startHere(old, [charge])
  const { id } = await old.holdfast.enqueue(charge, {})
  expect((await ended(old, id)).result).toEqual({ $encrypted: 'old' })
  expect((await kept(plain))[0]?.text).toMatch(/^\{"\$enc":\{"k":"old"/)
  const both = as('new', ['old', 'new'])
  expect(await both.holdfast.reencrypt()).toEqual({ key: 'new', looked: 2, encrypted: 2, unreadable: {} })
  expect((await kept(plain))[0]?.text).toMatch(/^\{"\$enc":\{"k":"new"/)
})

test('people see a result without what they do not see of the payload', async () => {
  const queue = await makeQueue()
  const card = '4111111111111111'
  const pay = defineType({
    type: 'pay',
    redact: ['card'],
    run: ({ card, amount }: { card: string; amount: number }) => ({
      card,
      note: `charged ${card}`,
      list: [Number(card)],
      amount,
    }),
  })
  await startHere(queue, [pay])
  const { id } = await queue.holdfast.enqueue(pay, { card, amount: 5 })
  const { result } = await ended(queue, id)
  expect(result).toEqual({ card: '[redacted]', note: 'charged [redacted]', list: ['[redacted]'], amount: 5 })
})

describe('of an attempt that lost its lease nothing is kept', () => {
  test('where the worker was killed after the handler returned and before that was written', async () => {
    const queue = await makeQueue()
    const killed = await queue.worker()
    const { id } = await queue.holdfast.enqueue('work', { returns: { done: true }, dieReturningUntil: 1 })
    await eventually(() => killed.gone())
    expect(await kept(queue)).toEqual([])
    await queue.worker()
    expect(await ended(queue, id)).toMatchObject({ status: 'completed', result: { done: true, attempt: 2 } })
    expect(await kept(queue)).toHaveLength(1)
  }, 60_000)

  test('where its worker was frozen, and returned after another one had done the job', async () => {
    const queue = await makeQueue()
    const zombie = await queue.worker({ name: 'zombie' })
    const { id } = await queue.holdfast.enqueue('work', { hold: queue.ledger.beside('go'), returns: {} })
    await eventually(() => queue.ledger.starts(id).length === 1)
    zombie.freeze()
    await queue.worker({ name: 'other' })
    await eventually(() => queue.ledger.starts(id).length === 2)
    queue.ledger.open('go')
    expect(await ended(queue, id)).toMatchObject({ status: 'completed', result: { attempt: 2 } })
    zombie.thaw()
    await zombie.heard('settle.late')
    expect(await kept(queue)).toHaveLength(1)
    expect(await ended(queue, id)).toMatchObject({ result: { attempt: 2 } })
  }, 60_000)
})

test('a result goes with its job: when it is forgotten, and when its day is dropped', async () => {
  const queue = await makeQueue()
  await startHere(queue, handlers)
  const jobs = await Promise.all([1, 2].map((value) => queue.holdfast.enqueue('returns_inline', { what: 'value', value })))
  for (const { id } of jobs) await ended(queue, id)
  await queue.holdfast.forget(jobs[0]?.id as string, { by: 'ada' })
  expect(await kept(queue)).toMatchObject([{ job_id: jobs[1]?.id, text: '2' }])
  await queue.sql("update holdfast.results set at = at - interval '9 days'")
  expect(await queue.sql('select tableoid::regclass::text as place from holdfast.results')).toEqual([
    { place: 'holdfast.results_rest' },
  ])
  await queue.sql("select holdfast.sweep_rest('7 days', '30 days')")
  expect(await kept(queue)).toEqual([])
  await queue.sql("select holdfast.make_partition('results', (holdfast.now() at time zone 'UTC')::date - 9)")
  await queue.sql("insert into holdfast.results values (gen_random_uuid(), holdfast.now() - interval '9 days', '1')")
  const dropped = "select holdfast.drop_oldest_partition('7 days', '30 days') as name"
  expect((await queue.sql(dropped))[0]?.name).toMatch(/^results_\d{8}$/)
  expect(await kept(queue)).toEqual([])
})
