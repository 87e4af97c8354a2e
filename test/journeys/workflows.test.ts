import { type AnyJobType, type AnyWorkflow, defineType, defineWorkflow, FatalError } from 'holdfast'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { type FreshQueue, freshQueue } from '../support/workflows.js'

const types: AnyJobType[] = []

/** Gives the worker of this file what a workflow needs. */
function known<Defined extends AnyWorkflow>(workflow: Defined, ...more: AnyJobType[]): Defined {
  types.push(...workflow.types, ...more)
  return workflow
}

/** One queue and one worker for all that need nothing of their own. */
let queue: FreshQueue
beforeAll(async () => {
  const ends: (() => Promise<void>)[] = []
  afterAll(async () => {
    for (const end of ends.reverse()) await end()
  })
  queue = await freshQueue(types, {}, (end) => void ends.push(end))
})

/** What each task of an execution is, by its name. */
async function statuses(id: string): Promise<Record<string, string>> {
  const { tasks = [] } = (await queue.holdfast.executions.get(id)) ?? {}
  return Object.fromEntries(tasks.filter(({ item }) => item === null).map(({ name, status }) => [name, status]))
}

describe('an execution', () => {
  const order = known(
    defineWorkflow({
      name: 'order',
      input: z.object({ cart: z.string(), total: z.number() }),
      tasks(task) {
        const charge = task('charge', { run: ({ total }) => ({ receipt: `paid ${total}` }) })
        const pack = task('pack', { run: ({ cart }) => ({ parcel: `box of ${cart}` }) })
        const ship = task('ship', {
          after: [charge, pack],
          run: async (_, { parents }) => {
            const { charge: paid, pack: packed } = await parents()
            return `${paid.receipt}, ${packed.parcel}`
          },
        })
        return { ship, charge }
      },
    }),
  )

  test('runs each task once its parents have ended, hands their results on, and ends with its output', async () => {
    const started = await queue.holdfast.start(order, { cart: 'socks', total: 30 })
    expect(started.status).toBe('created')
    expect(await queue.holdfast.executions.wait(started)).toEqual({
      ship: 'paid 30, box of socks',
      charge: { receipt: 'paid 30' },
    })
    const execution = await queue.holdfast.executions.get(started.id)
    expect(execution).toMatchObject({ workflow: 'order', version: 1, status: 'completed', input: { cart: 'socks', total: 30 } })
    expect(execution?.tasks.map(({ name, status, after }) => [name, status, after])).toEqual([
      ['charge', 'completed', []],
      ['pack', 'completed', []],
      ['ship', 'completed', ['charge', 'pack']],
    ])
    const [charge, , ship] = execution?.tasks ?? []
    expect(ship?.startedAt?.getTime()).toBeGreaterThanOrEqual(charge?.endedAt?.getTime() as number)
    expect(await queue.holdfast.job(ship?.jobId as string)).toMatchObject({
      type: 'order.ship',
      status: 'completed',
      result: 'paid 30, box of socks',
    })
    expect(await queue.sql('select from holdfast.open_groups where group_id = $1', [started.id])).toEqual([])
  })

  test('exists only if the transaction it was started in commits', async () => {
    const client = await queue.connect()
    await client.query('begin')
    const undone = await queue.holdfast.start(order, { cart: 'a', total: 1 }, { tx: client })
    await client.query('rollback')
    expect(await queue.holdfast.executions.get(undone.id)).toBeUndefined()
    await client.query('begin')
    const done = await queue.holdfast.start(order, { cart: 'a', total: 1 }, { tx: client })
    await client.query('commit')
    expect(await queue.holdfast.executions.wait(done)).toMatchObject({ ship: 'paid 1, box of a' })
  })

  test('with an id of the caller is started once', async () => {
    const first = await queue.holdfast.start(order, { cart: 'a', total: 1 })
    const again = await queue.holdfast.start(order, { cart: 'a', total: 1 }, { id: first.id })
    expect(again).toEqual({ id: first.id, status: 'existing' })
    await queue.holdfast.executions.wait(first)
    expect(await queue.sql('select count(*)::int from holdfast.members where group_id = $1', [first.id])).toEqual([{ count: 3 }])
  })

  test('is refused with an input that does not fit, and nothing is stored', async () => {
    const queue = await freshQueue()
    const started = queue.holdfast.start(order, { cart: 'a' } as never)
    await expect(started).rejects.toMatchObject({ code: 'payload_rejected', field: 'input.total' })
    expect(await queue.sql('select count(*)::int from holdfast.executions')).toEqual([{ count: 0 }])
  })

  test('is refused with unknown types and bad paths, all of them at once, and nothing is stored', async () => {
    const queue = await freshQueue()
    const wrong = defineWorkflow({
      name: 'wrong',
      tasks(task) {
        task('a', { type: 'nobody_knows' })
        task('b', { run: () => 1, if: '$.input.x >' })
        task('c', { run: () => 1, if: '$.input.x' })
        task('d', { run: () => 1, each: '$.input[' })
      },
    })
    const error = await queue.holdfast.start(wrong, {}).catch((problem) => problem)
    expect(error.issues.map(({ path, problem }: { path: string[]; problem: string }) => `${path.join('.')} ${problem}`)).toEqual([
      'tasks.a.type is "nobody_knows", and no job type of that name is registered',
      expect.stringMatching(/^tasks.b.if is "\$.input.x >", which is no jsonpath: syntax error/),
      'tasks.c.if is "$.input.x", which is no predicate; compare it with something, such as "$.input.x == true"',
      expect.stringMatching(/^tasks.d.each is "\$.input\[", which is no jsonpath/),
    ])
    expect(await queue.sql('select count(*)::int from holdfast.workflows')).toEqual([{ count: 0 }])
  })

  test('keeps the graph it started with; a changed definition gets the next version', async () => {
    const queue = await freshQueue()
    const versionOf = (tasks: number) =>
      defineWorkflow({
        name: 'grows',
        tasks(task) {
          let last: string[] = []
          for (let n = 0; n < tasks; n++) last = [task(`t${n}`, { run: () => n, after: last }).name]
        },
      })
    const old = await queue.holdfast.start(versionOf(2), null)
    const young = await queue.holdfast.start(versionOf(3), null)
    await queue.work(versionOf(3).types)
    await Promise.all([queue.holdfast.executions.wait(old), queue.holdfast.executions.wait(young)])
    expect(await queue.holdfast.executions.get(old.id)).toMatchObject({ version: 1, tasks: [{ name: 't0' }, { name: 't1' }] })
    expect((await queue.holdfast.executions.get(young.id))?.tasks).toHaveLength(3)
    const { executions } = await queue.holdfast.executions.list({ workflow: 'grows' })
    expect(executions.map(({ id, version }) => [id, version])).toEqual([
      [young.id, 2],
      [old.id, 1],
    ])
  })
})

describe('a condition', () => {
  const sized = known(
    defineWorkflow({
      name: 'sized',
      input: z.object({ total: z.number() }),
      tasks(task) {
        const look = task('look', { run: ({ total }) => ({ big: total > 100 }) })
        const small = task('small', { after: [look], if: '$.look.big == false', run: () => 'small' })
        const big = task('big', { after: [look], if: '$.look.big == true && $.input.total > 0', run: () => 'big' })
        const beyond = task('beyond', { after: [big], run: () => 'beyond' })
        return task('join', {
          after: [small, big],
          run: async (_, { parents }) => ({ ...(await parents()), beyond: beyond.name }),
        })
      },
    }),
  )

  test('decides which branch runs; what only follows a skipped one is skipped; a join goes on with what ran', async () => {
    const [big, small] = await Promise.all([
      queue.holdfast.start(sized, { total: 500 }),
      queue.holdfast.start(sized, { total: 5 }),
    ])
    expect(await queue.holdfast.executions.wait(big)).toEqual({ big: 'big', beyond: 'beyond' })
    expect(await queue.holdfast.executions.wait(small)).toEqual({ small: 'small', beyond: 'beyond' })
    expect(await statuses(small.id)).toEqual({
      look: 'completed',
      small: 'completed',
      big: 'skipped',
      beyond: 'skipped',
      join: 'completed',
    })
  })
})

describe('a fan-out', () => {
  const crawl = known(
    defineWorkflow({
      name: 'crawl',
      input: z.object({ pages: z.number() }),
      tasks(task) {
        const list = task('list', { run: ({ pages }) => ({ urls: Array.from({ length: pages }, (_, n) => ({ n })) }) })
        const fetch = task('fetch', {
          after: [list],
          each: '$.list.urls[*]',
          run: async ({ n }: { n: number }, { execution }) => ({ n, item: (await execution()).item }),
        })
        return task('sum', {
          after: [fetch],
          run: async (_, { parents }) => {
            const { fetch: pages } = await parents()
            return {
              sum: pages.reduce((sum, { n }) => sum + n, 0),
              inOrder: pages.every(({ n, item }, at) => n === at && item === at),
            }
          },
        })
      },
    }),
  )

  test('runs a job for each item, and hands all results on in their order', async () => {
    const started = await queue.holdfast.start(crawl, { pages: 50 })
    expect(await queue.holdfast.executions.wait(started)).toEqual({ sum: 1225, inOrder: true })
  })

  test('over nothing completes at once', async () => {
    const started = await queue.holdfast.start(crawl, { pages: 0 })
    expect(await queue.holdfast.executions.wait(started)).toEqual({ sum: 0, inOrder: true })
  })
})

describe('a failure', () => {
  const branches = (onFailure: 'stop' | 'continue') =>
    known(
      defineWorkflow({
        name: `branches_${onFailure}`,
        onFailure,
        tasks(task) {
          const bad = task('bad', {
            run: () => {
              throw new FatalError('out of paper')
            },
          })
          const after = task('after', { after: [bad], run: () => 1 })
          task('rescue', { after: [after], when: 'failed', run: () => 'rescued' })
          const slow = task('slow', { delay: '200ms', run: () => 1 })
          task('beside', { after: [slow], run: () => 1 })
          task('last', { after: [after, slow], when: 'always', run: () => 'cleaned' })
        },
      }),
    )
  const [stop, goOn] = [branches('stop'), branches('continue')]

  test('stops everything but what says when failed or always', async () => {
    const started = await queue.holdfast.start(stop, null)
    await expect(queue.holdfast.executions.wait(started)).rejects.toMatchObject({
      code: 'execution_failed',
      message: expect.stringContaining('bad is dead: FatalError: out of paper'),
    })
    expect(await statuses(started.id)).toEqual({
      bad: 'dead',
      after: 'skipped',
      rescue: 'completed',
      slow: 'completed',
      beside: 'skipped',
      last: 'completed',
    })
  })

  test('leaves other branches alone where the workflow says so', async () => {
    const started = await queue.holdfast.start(goOn, null)
    await expect(queue.holdfast.executions.wait(started)).rejects.toMatchObject({ code: 'execution_failed' })
    expect(await statuses(started.id)).toMatchObject({ beside: 'completed', after: 'skipped', last: 'completed' })
  })

  const picky = defineType({ type: 'picky', run: () => 1 })
  const unstartable = known(
    defineWorkflow({
      name: 'unstartable',
      tasks(task) {
        const list = task('list', { run: () => 'no list' })
        task('each', { after: [list], each: 'strict $.list.things[*]', type: picky })
      },
    }),
    picky,
  )

  test('of a task that cannot be started is shown with its reason, and ends the execution', async () => {
    const started = await queue.holdfast.start(unstartable, null)
    await expect(queue.holdfast.executions.wait(started)).rejects.toMatchObject({
      message: expect.stringContaining('each is dead: TaskError: the task could not be started'),
    })
  })
})

const lonely = defineType({
  type: 'lonely',
  run: async (_, { parents, execution }) => [await parents(), await execution().catch(({ code }) => code)],
})
types.push(lonely)

test('a job that is no task has no parents and no execution', async () => {
  expect(await queue.holdfast.wait(await queue.holdfast.enqueue(lonely, null))).toEqual([{}, 'not_found'])
})
