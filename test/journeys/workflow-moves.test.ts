import { type AnyJobType, type AnyWorkflow, defineType, defineWorkflow, FatalError } from 'holdfast'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { eventually } from '../support/facts.js'
import { type FreshQueue, freshQueue } from '../support/workflows.js'

const types: AnyJobType[] = []
function known<Defined extends AnyWorkflow>(workflow: Defined): Defined {
  types.push(...workflow.types)
  return workflow
}

let queue: FreshQueue
beforeAll(async () => {
  const ends: (() => Promise<void>)[] = []
  afterAll(async () => {
    for (const end of ends.reverse()) await end()
  })
  queue = await freshQueue(types, {}, (end) => void ends.push(end))
})

const who = { by: 'grace', why: 'a test' }

async function statuses(id: string): Promise<Record<string, string>> {
  const { tasks = [] } = (await queue.holdfast.executions.get(id)) ?? {}
  return Object.fromEntries(tasks.map(({ name, item, status }) => [item === null ? name : `${name}[${item}]`, status]))
}

/** What the handlers did, by the key of the input; `broken` makes the task `b` of that key fail. */
const ran = new Map<string, string[]>()
const broken = new Set<string>()
function note<Result>(key: string, task: string, result?: Result): Result | undefined {
  ran.set(key, [...(ran.get(key) ?? []), task])
  return result
}

const chain = known(
  defineWorkflow({
    name: 'chain',
    input: z.object({ key: z.string() }),
    tasks(task) {
      const a = task('a', { run: ({ key }) => note(key, 'a', `a of ${key}`) })
      const beside = task('beside', { run: ({ key }) => note(key, 'beside') })
      const b = task('b', {
        after: [a],
        run: ({ key }) => {
          note(key, 'b')
          if (broken.has(key)) throw new FatalError('broken')
          return 'b'
        },
      })
      return task('c', { after: [b, beside], run: async ({ key }, { parents }) => note(key, 'c', (await parents()).b) })
    },
  }),
)

async function failed(key: string): Promise<string> {
  broken.add(key)
  const { id } = await queue.holdfast.start(chain, { key })
  await expect(queue.holdfast.executions.wait(id)).rejects.toMatchObject({ code: 'execution_failed' })
  broken.delete(key)
  return id
}

describe('a failed execution', () => {
  test('goes on as the same execution when it is resumed, and runs nothing twice that had completed', async () => {
    const id = await failed('resumed')
    expect(await statuses(id)).toEqual({ a: 'completed', beside: 'completed', b: 'dead', c: 'skipped' })
    expect(await queue.holdfast.executions.resume(id, who)).toEqual({ id, done: true, was: 'failed', status: 'running' })
    expect(await queue.holdfast.executions.wait(id)).toBe('b')
    expect(ran.get('resumed')?.sort()).toEqual(['a', 'b', 'b', 'beside', 'c'])
    expect((await queue.holdfast.audit({ target: id }))[0]).toMatchObject({
      action: 'resume_execution',
      actor: 'grace',
      why: 'a test',
    })
  })

  test('goes on when its dead letter is replayed', async () => {
    const id = await failed('replayed')
    const { jobId } = (await queue.holdfast.executions.get(id))?.tasks.find(({ name }) => name === 'b') ?? {}
    await queue.holdfast.deadLetters.replay(jobId as string, who)
    await eventually(async () => (await queue.holdfast.executions.get(id))?.status === 'completed')
    expect(await statuses(id)).toEqual({ a: 'completed', beside: 'completed', b: 'completed', c: 'completed' })
  })

  test('is repeated from a task by a new execution that takes over what does not depend on it', async () => {
    const id = await failed('again')
    const { id: again } = await queue.holdfast.executions.rerun(id, 'b', who)
    expect(await queue.holdfast.executions.wait(again)).toBe('b')
    const execution = await queue.holdfast.executions.get(again)
    expect(execution).toMatchObject({ rerunOf: id, rerunFrom: 'b', input: { key: 'again' } })
    expect(execution?.tasks.map(({ name, reused }) => [name, reused])).toEqual([
      ['a', true],
      ['beside', true],
      ['b', false],
      ['c', false],
    ])
    expect(ran.get('again')?.sort()).toEqual(['a', 'b', 'b', 'beside', 'c'])
    expect((await queue.holdfast.executions.get(id))?.status).toBe('failed')
    await expect(queue.holdfast.executions.rerun(id, 'd', who)).rejects.toMatchObject({ code: 'invalid_option', field: 'from' })
  })

  test('is not resumed where it completed or runs, and says so', async () => {
    const { id } = await queue.holdfast.start(chain, { key: 'fine' })
    await queue.holdfast.executions.wait(id)
    expect(await queue.holdfast.executions.resume(id, who)).toMatchObject({ done: false, because: 'it has completed' })
    await expect(queue.holdfast.executions.resume('0190a5c6-0000-7000-8000-000000000000', who)).rejects.toMatchObject({
      code: 'not_found',
    })
  })
})

describe('a cancelled execution', () => {
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const slow = known(
    defineWorkflow({
      name: 'slow',
      tasks(task) {
        const first = task('first', { run: () => 1 })
        const long = task('long', {
          after: [first],
          run: (_, { signal }) =>
            Promise.race([held, new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))]),
        })
        const later = task('later', { delay: '1h', run: () => 1 })
        return task('last', { after: [long, later], run: () => 'done' })
      },
    }),
  )

  test('starts nothing more, and its jobs are cancelled, running ones too; resumed, it goes on', async () => {
    const { id } = await queue.holdfast.start(slow, null)
    await eventually(async () => {
      const { jobId } = (await queue.holdfast.executions.get(id))?.tasks.find(({ name }) => name === 'long') ?? {}
      return (await queue.holdfast.job(jobId as string))?.status === 'processing'
    })
    expect(await queue.holdfast.executions.cancel(id, who)).toEqual({ id, done: true, was: 'running', status: 'cancelled' })
    await expect(queue.holdfast.executions.wait(id)).rejects.toMatchObject({ code: 'execution_cancelled' })
    expect(await queue.holdfast.executions.cancel(id, who)).toMatchObject({
      done: false,
      because: 'it has already ended: cancelled',
    })
    await eventually(async () => (await statuses(id)).long === 'cancelled')
    expect(await statuses(id)).toEqual({ first: 'completed', long: 'cancelled', later: 'cancelled', last: 'skipped' })
    release()
    expect(await queue.holdfast.executions.resume(id, who)).toMatchObject({ done: true, was: 'cancelled', status: 'running' })
    const { jobId } = (await queue.holdfast.executions.get(id))?.tasks.find(({ name }) => name === 'later') ?? {}
    await queue.holdfast.runNow(jobId as string, who)
    expect(await queue.holdfast.executions.wait(id)).toBe('done')
  })
})

describe('a sub-workflow', () => {
  const inner = known(
    defineWorkflow({
      name: 'inner',
      input: z.object({ key: z.string(), n: z.number() }),
      tasks: (task) =>
        task('double', {
          run: ({ key, n }) => {
            if (broken.has(key) && n === 1) throw new FatalError('broken')
            return n * 2
          },
        }),
    }),
  )
  const outer = known(
    defineWorkflow({
      name: 'outer',
      input: z.object({ key: z.string(), list: z.array(z.number()) }),
      tasks(task) {
        const list = task('list', { run: ({ key, list: numbers }) => numbers.map((n) => ({ key, n })) })
        const one = task('one', { workflow: inner, payload: { key: 'own', n: 21 } })
        const all = task('all', { after: [list], workflow: inner, each: '$.list[*]' })
        return task('sum', {
          after: [one, all],
          run: async (_, { parents }) => {
            const results = await parents()
            return [results.one, ...results.all]
          },
        })
      },
    }),
  )
  // Its handlers stand in both.
  types.splice(0, types.length, ...new Map(types.map((type) => [type.type, type])).values())

  test('is a task whose result is its output, once or for each item', async () => {
    const started = await queue.holdfast.start(outer, { key: 'sub', list: [1, 2, 3] })
    expect(await queue.holdfast.executions.wait(started)).toEqual([42, 2, 4, 6])
    const [one] = (await queue.holdfast.executions.get(started.id))?.tasks.filter(({ name }) => name === 'one') ?? []
    expect(await queue.holdfast.executions.get(one?.jobId as string)).toMatchObject({ workflow: 'inner', parentId: started.id })
  })

  test('that fails fails its task, and is resumed with the whole', async () => {
    broken.add('subfail')
    const { id } = await queue.holdfast.start(outer, { key: 'subfail', list: [1, 2] })
    await expect(queue.holdfast.executions.wait(id)).rejects.toMatchObject({ code: 'execution_failed' })
    expect(await statuses(id)).toMatchObject({ all: 'dead', 'all[0]': 'dead', 'all[1]': 'completed', sum: 'skipped' })
    broken.delete('subfail')
    expect(await queue.holdfast.executions.resume(id, who)).toMatchObject({ done: true, status: 'running' })
    expect(await queue.holdfast.executions.wait(id)).toEqual([42, 2, 4])
  })

  test('with nothing to run ends at once', async () => {
    const started = await queue.holdfast.start(outer, { key: 'none', list: [] })
    expect(await queue.holdfast.executions.wait(started)).toEqual([42])
  })
})

test('a task that has not started says which parents it waits for, and one that was skipped why', async () => {
  const waits = defineWorkflow({
    name: 'waits',
    tasks: (task) =>
      task('c', { after: [task('a', { type: 'chain.a' }), task('b', { type: 'chain.a', delay: '1h' })], run: () => 1 }),
  })
  const { id } = await queue.holdfast.start(waits, { key: 'explained' })
  const idOf = async (name: string) =>
    (await queue.holdfast.executions.get(id))?.tasks.find((task) => task.name === name)?.jobId as string
  await eventually(async () => (await statuses(id)).a === 'completed')
  expect(await queue.holdfast.explain(await idOf('c'))).toEqual({
    type: 'waits.c',
    status: 'blocked',
    gates: [
      {
        gate: 'parents',
        why: `it is the task c of execution ${id} (waits) and waits for the parents b`,
        opens: 'the end of these tasks',
        heldBy: [await idOf('b')],
      },
    ],
  })
  await queue.holdfast.executions.cancel(id, who)
  expect((await queue.holdfast.explain(await idOf('c')))?.gates[0]?.why).toContain('did not start: the execution was cancelled')
})

describe('a resumed execution with encrypted payloads', () => {
  let paid = false
  const card = defineType({
    type: 'card',
    encrypt: true,
    maxAttempts: 1,
    run: ({ number }: { number: string }) => {
      if (!paid) throw new FatalError('declined')
      return number
    },
  })
  const pay = defineWorkflow({
    name: 'pay',
    tasks: (task) => task('card', { type: card, after: [task('ask', { run: () => 1 })] }),
  })
  const encryption = { current: 'k1', keys: { k1: Buffer.alloc(32, 7).toString('base64') } }

  test('runs a task that could not be started with the payload that was encrypted for it', async () => {
    const { holdfast, sql } = await freshQueue([...pay.types, card], { encryption })
    paid = true
    await sql(`create function refuse() returns trigger language plpgsql as $$ begin raise 'no room'; end $$`)
    await sql(`create trigger refuse before insert on holdfast.bodies for each row
               when (new.payload::text like '{"$enc"%') execute function refuse()`)
    const { id } = await holdfast.start(pay, { number: '4111' })
    await expect(holdfast.executions.wait(id)).rejects.toThrow('card is dead: TaskError: the task could not be started: no room')
    await sql('drop trigger refuse on holdfast.bodies')
    expect(await holdfast.executions.resume(id, who)).toMatchObject({ done: true, status: 'running' })
    expect(await holdfast.executions.wait(id)).toBe('4111')
  })

  test('is refused where the dead letter is gone for which a payload was encrypted', async () => {
    const { holdfast, sql } = await freshQueue([...pay.types, card], { encryption })
    paid = false
    const { id } = await holdfast.start(pay, { number: '4111' })
    await expect(holdfast.executions.wait(id)).rejects.toMatchObject({ code: 'execution_failed' })
    await sql('delete from holdfast.dead_letters')
    await expect(holdfast.executions.resume(id, who)).rejects.toThrow(
      /^the job of task card cannot go on, and its payload is encrypted for that job alone/,
    )
    paid = true
    const again = await holdfast.executions.rerun(id, 'card', who)
    expect(await holdfast.executions.wait(again)).toBe('4111')
  })
})
