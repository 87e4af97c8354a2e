import { defineType, defineWorkflow, type ExecutionInHand, HoldfastError, type Workflow } from 'holdfast'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'

const charge = defineType({
  type: 'charge',
  payload: z.object({ total: z.number() }),
  run: async ({ total }) => ({ receipt: `r${total}` }),
})
const secret = defineType({ type: 'secret', encrypt: true, run: () => 1 })

/** The problems of a definition, each as `field problem`. */
function problemsOf(define: () => unknown): string[] {
  try {
    define()
  } catch (error) {
    if (error instanceof HoldfastError) return error.issues.map(({ path, problem }) => `${path.join('.')} ${problem}`)
    throw error
  }
  return []
}

describe('a workflow', () => {
  test('knows its tasks, what each waits for, and whose results are its output', () => {
    const order = defineWorkflow({
      name: 'order',
      input: z.object({ total: z.number() }),
      tasks(task) {
        const paid = task('paid', { type: charge, priority: 9, delay: '1m' })
        const packed = task('packed', { lane: 'interactive', timeout: '2m', run: ({ total }) => total })
        const sent = task('sent', { after: [paid, packed], if: '$.paid.receipt starts with "r"', run: () => 'sent' })
        return { sent, paid }
      },
    })
    expect(order.graph).toEqual({
      onFailure: 'stop',
      output: { sent: 'sent', paid: 'paid' },
      tasks: [
        { name: 'paid', type: 'charge', after: [], when: 'succeeded', options: { priority: 9, delayMs: 60_000 } },
        { name: 'packed', type: 'order.packed', after: [], when: 'succeeded', options: {} },
        {
          name: 'sent',
          type: 'order.sent',
          after: ['paid', 'packed'],
          when: 'succeeded',
          if: '$.paid.receipt starts with "r"',
          options: {},
        },
      ],
    })
    expect(order.types.map(({ type, lane, timeoutMs }) => [type, lane, timeoutMs])).toEqual([
      ['order.packed', 'interactive', 120_000],
      ['order.sent', 'default', 300_000],
    ])
  })

  test('has the same hash in every process, and another one when a task changes', () => {
    const define = (when: 'succeeded' | 'always') =>
      defineWorkflow({
        name: 'order',
        tasks(task) {
          task('b', { type: 'b', after: [task('a', { type: 'a' })], when })
        },
      })
    expect(define('succeeded').hash).toBe(define('succeeded').hash)
    expect(define('always').hash).not.toBe(define('succeeded').hash)
  })

  test('can be a thousand tasks wide and a thousand deep', () => {
    const wide = defineWorkflow({
      name: 'wide',
      tasks: (task) =>
        task('join', { type: 'join', after: Array.from({ length: 1_000 }, (_, n) => task(`t${n}`, { type: 't' })) }),
    })
    expect(wide.graph.tasks.at(-1)?.after).toHaveLength(1_000)
    const deep = defineWorkflow({
      name: 'deep',
      tasks(task) {
        for (let n = 0; n < 1_000; n++) task(`t${n}`, { type: 't', after: n === 0 ? [] : [`t${n - 1}`] })
      },
    })
    expect(deep.graph.tasks).toHaveLength(1_000)
  })

  test('brings the handlers of its sub-workflows', () => {
    const inner = defineWorkflow({ name: 'inner', tasks: (task) => task('one', { run: () => 1 }) })
    const outer = defineWorkflow({ name: 'outer', tasks: (task) => task('all', { workflow: inner, each: '$.input.list[*]' }) })
    expect(outer.types.map(({ type }) => type)).toEqual(['inner.one'])
    expect(outer.graph.tasks[0]).toMatchObject({ workflow: { name: 'inner', hash: inner.hash }, each: '$.input.list[*]' })
  })
})

describe('a definition is refused', () => {
  test('with everything that is wrong with it at once', () => {
    const problems = problemsOf(() =>
      defineWorkflow({
        name: 'wrong',
        onFailure: 'panic' as 'stop',
        tasks(task) {
          task('first', { type: 'a', after: ['fist'], priority: 11 })
          task('2nd', { type: 'a' })
          task('both', { type: 'a', run: () => 1 } as never)
          task('odd', { type: 'a', colour: 'red' } as never)
          task('late', { run: () => 1, timeout: 'soon' })
          task('never', { type: 'a', when: 'sometimes' as 'always' })
        },
      }),
    )
    expect(problems).toEqual([
      expect.stringMatching(/^onFailure is "panic"; it must be stop or continue/),
      expect.stringMatching(/^tasks.first.priority is 11/),
      expect.stringMatching(/^tasks.2nd is no name for a task/),
      expect.stringMatching(/^tasks.both needs one of run, type and workflow/),
      expect.stringMatching(/^tasks.odd.colour is not known/),
      expect.stringMatching(/^tasks.late.timeout is "soon"/),
      expect.stringMatching(/^tasks.never.when is "sometimes"; it must be succeeded, failed or always/),
      expect.stringMatching(/^tasks.first.after names "fist", which is no task \(did you mean "first"\?\)/),
    ])
  })

  test('when its tasks wait for each other in a circle, which it names', () => {
    const problems = problemsOf(() =>
      defineWorkflow({
        name: 'round',
        tasks(task) {
          task('before', { type: 'a' })
          task('a', { type: 'a', after: ['before', 'c'] })
          task('b', { type: 'a', after: ['a'] })
          task('c', { type: 'a', after: ['b'] })
          task('behind', { type: 'a', after: ['c'] })
        },
      }),
    )
    expect(problems).toEqual(['tasks wait for each other in a circle: a → b → c → a'])
  })

  test('when a task has a name twice, or there is none', () => {
    expect(problemsOf(() => defineWorkflow({ name: 'none', tasks() {} }))).toEqual(['tasks are none; name one at least'])
    const twice = () =>
      defineWorkflow({ name: 'twice', tasks: (task) => [task('a', { type: 'a' }), task('a', { type: 'b' })][0] })
    expect(problemsOf(twice)).toEqual(['tasks.a is defined twice'])
  })

  test('when a condition reads what is no parent, nothing at all, or everything', () => {
    const problems = problemsOf(() =>
      defineWorkflow({
        name: 'blind',
        tasks(task) {
          const a = task('a', { type: 'a' })
          task('b', { type: 'a' })
          task('c', { type: 'a', after: [a], if: '$.b == 1' })
          task('d', { type: 'a', after: [a], if: 'true' })
          task('e', { type: 'a', after: [a], each: '$.*' })
          task('f', { type: 'a', after: [a], if: '$.a == "$.b costs $5" && $.input.x > 1' })
        },
      }),
    )
    expect(problems).toEqual([
      expect.stringMatching(/^tasks.c.if reads \$\.b; it can read \$\.input, \$\.a/),
      expect.stringMatching(/^tasks.d.if reads nothing/),
      expect.stringMatching(/^tasks.e.each reads the whole document or a variable/),
    ])
  })

  test('when the database would have to read or make what is encrypted', () => {
    const problems = problemsOf(() =>
      defineWorkflow({
        name: 'hidden',
        tasks(task) {
          const a = task('a', { type: secret })
          task('b', { type: 'b', after: [a], if: '$.a == 1' })
          task('c', { type: 'b', each: '$.input[*]' })
          task('d', { type: secret, after: [task('list', { type: 'b' })], each: '$.list[*]' })
        },
      }),
    )
    expect(problems).toEqual([
      expect.stringMatching(/^tasks.d.each makes jobs of secret in the database, which has no keys/),
      expect.stringMatching(/^tasks.b.if reads \$\.a, which is encrypted/),
      expect.stringMatching(/^tasks.c.each reads \$\.input, which is encrypted/),
    ])
    const inner = defineWorkflow({ name: 'inner', tasks: (task) => task('a', { type: secret }) })
    expect(problemsOf(() => defineWorkflow({ name: 'outer', tasks: (task) => task('in', { workflow: inner }) }))).toEqual([
      expect.stringMatching(/^tasks.in.workflow is inner, which has encrypted types/),
    ])
  })
})

test('the compiler knows input, parents and output', () => {
  const order = defineWorkflow({
    name: 'typed',
    input: z.object({ total: z.number(), note: z.string().default('') }),
    tasks(task) {
      const paid = task('paid', { type: charge })
      const maybe = task('maybe', { if: '$.input.total > 1', run: () => 7 })
      const many = task('many', { after: [paid], each: '$.paid.receipt', run: (item: string) => item.length })
      task('lost', {
        after: [paid, many],
        when: 'failed',
        run: async (_, { parents }) => {
          expectTypeOf(await parents()).toEqualTypeOf<{ paid: { receipt: string } | undefined; many: number[] | undefined }>()
        },
      })
      // @ts-expect-error the input has no field `name`, so the task needs a payload of its own
      task('named', { type: defineType({ type: 'named', payload: z.object({ name: z.string() }) }) })
      task('named_well', {
        type: defineType({ type: 'named', payload: z.object({ name: z.string() }) }),
        payload: { name: 'ada' },
      })
      return task('end', {
        after: [paid, maybe, many],
        run: async (input, { parents, execution }) => {
          expectTypeOf(input).toEqualTypeOf<{ total: number; note: string }>()
          expectTypeOf(await parents()).toEqualTypeOf<{ paid: { receipt: string }; maybe: number | undefined; many: number[] }>()
          expectTypeOf(await execution()).toEqualTypeOf<ExecutionInHand<{ total: number; note?: string | undefined }>>()
          return { done: true }
        },
      })
    },
  })
  expectTypeOf(order).toEqualTypeOf<Workflow<{ total: number; note?: string | undefined }, { done: boolean }>>()
  const both = defineWorkflow({ name: 'both', tasks: (task) => ({ one: task('a', { run: () => 1 }) }) })
  expectTypeOf(both).toEqualTypeOf<Workflow<unknown, { one: number }>>()
  const branches = defineWorkflow({
    name: 'branches',
    tasks(task) {
      const [one, other] = [
        task('one', { if: '$.input.a == 1', run: () => 1 }),
        task('other', { if: '$.input.a == 2', run: () => 2 }),
      ]
      return { join: task('join', { after: [one, other], run: () => 'ran' }), only: task('only', { after: [one], run: () => 3 }) }
    },
  })
  expectTypeOf(branches).toEqualTypeOf<Workflow<unknown, { join: string | undefined; only: number | undefined }>>()
  expect(order.graph.output).toBe('end')
})
