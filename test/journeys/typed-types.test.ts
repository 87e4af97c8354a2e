import { type } from 'arktype'
import { defineType, Holdfast } from 'holdfast'
import { type ScratchQueue, scratchQueue } from 'holdfast/testing'
import * as v from 'valibot'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'

let queue: ScratchQueue
beforeAll(async () => {
  queue = await scratchQueue()
})
afterAll(() => queue.close())

const seen: unknown[] = []
const see = (payload: unknown) => void seen.push(payload)

/** The same payload in three libraries: an address, and a count that is one unless said otherwise. */
const libraries = [
  {
    name: 'zod',
    made: defineType({
      type: 'with_zod',
      payload: z.object({ to: z.email(), count: z.number().int().default(1) }),
      run: (payload) => see(payload satisfies { to: string; count: number }),
    }),
  },
  {
    name: 'valibot',
    made: defineType({
      type: 'with_valibot',
      payload: v.object({ to: v.pipe(v.string(), v.email()), count: v.optional(v.pipe(v.number(), v.integer()), 1) }),
      run: (payload) => see(payload satisfies { to: string; count: number }),
    }),
  },
  {
    name: 'arktype',
    made: defineType({
      type: 'with_arktype',
      payload: type({ to: 'string.email', count: 'number.integer = 1' }),
      run: (payload) => see(payload satisfies { to: string; count: number }),
    }),
  },
]

describe.each(libraries)('a type with a schema of $name', ({ made }) => {
  test('stores what was given and hands its handler what the schema makes of it', async () => {
    seen.length = 0
    await queue.holdfast.enqueue(made, { to: 'ada@example.com' })
    expect(await queue.enqueued(made)).toMatchObject([{ payload: { to: 'ada@example.com' } }])
    expect((await queue.enqueued(made))[0]?.payload).not.toHaveProperty('count')
    await queue.drain([made])
    expect(seen).toEqual([{ to: 'ada@example.com', count: 1 }])
  })

  test('refuses what does not fit, naming the path, and stores nothing', async () => {
    const refused = queue.holdfast.enqueue(made, { to: 'nowhere', count: 1 })
    await expect(refused).rejects.toMatchObject({
      code: 'payload_rejected',
      field: 'payload.to',
      message: expect.stringMatching(`${made.type} refuses its payload: payload.to: `),
    })
    expect(await queue.enqueued(made)).toEqual([])
  })
})

describe('a schema', () => {
  test('that transforms keeps the input in the queue and gives the output to the handler, at every attempt', async () => {
    const given: unknown[] = []
    const made = defineType({
      type: 'transforming',
      payload: z.object({ at: z.iso.datetime().transform((text) => new Date(text)) }),
      run(payload, ctx) {
        given.push(payload.at satisfies Date)
        if (ctx.job.attempt === 1) throw new Error('once')
      },
    })
    const { id } = await queue.holdfast.enqueue(made, { at: '2030-01-01T00:00:00Z' })
    await queue.drain([made], { throughTime: true })
    expect(await queue.holdfast.job(id)).toMatchObject({ payload: { at: '2030-01-01T00:00:00Z' }, status: 'completed' })
    expect(given).toEqual([new Date('2030-01-01T00:00:00Z'), new Date('2030-01-01T00:00:00Z')])
  })

  test('may take its time', async () => {
    const taken = new Set(['ada'])
    const made = defineType({
      type: 'asynchronous',
      payload: z.object({ name: z.string().refine(async (name) => !taken.has(name), 'is taken') }),
      run: see,
    })
    await expect(queue.holdfast.enqueue(made, { name: 'ada' })).rejects.toMatchObject({
      message: expect.stringMatching(/payload\.name: is taken/),
    })
    await queue.holdfast.enqueue(made, { name: 'bob' })
    expect((await queue.drain([made])).completed).toHaveLength(1)
  })

  test('is asked again at the run: a job from before it changed goes to the dead letters with the reason, once', async () => {
    const before = defineType({ type: 'changing', payload: z.object({ colour: z.string() }) })
    const after = defineType({ type: 'changing', payload: z.object({ color: z.string() }), run: see })
    await queue.holdfast.enqueue(before, { colour: 'red' })
    const { dead } = await queue.drain([after])
    expect(dead).toHaveLength(1)
    expect(dead[0]?.attempts).toMatchObject([
      {
        error: {
          name: 'FatalError',
          message: expect.stringMatching(/does not fit today's schema of changing: payload\.color: ./),
        },
      },
    ])
  })

  test('that throws is a failed enqueue and not a stored job', async () => {
    const broken = {
      '~standard': {
        version: 1,
        vendor: 'broken',
        validate: () => {
          throw new Error('broken schema')
        },
      },
    } as const
    const made = defineType({ type: 'broken_schema', payload: broken })
    await expect(queue.holdfast.enqueue(made, 1)).rejects.toThrow('broken schema')
    expect(await queue.enqueued('broken_schema')).toEqual([])
  })

  test('lists every problem of a payload at once', async () => {
    const made = defineType({ type: 'many_problems', payload: z.object({ a: z.string(), b: z.array(z.number()) }) })
    // @ts-expect-error Both fields are wrong.
    const refused = queue.holdfast.enqueue(made, { a: 1, b: [1, 'two'] })
    await expect(refused).rejects.toMatchObject({ message: expect.stringMatching(/payload\.a: .*; payload\.b\[1\]: /) })
  })
})

describe('a producer without handler code', () => {
  test('can enqueue with a definition that has no run, in another process than the worker', async () => {
    const declared = defineType({ type: 'declared', payload: z.object({ n: z.number() }), priority: 8, lane: 'system' })
    const producer = new Holdfast({ connectionString: queue.connectionString })
    await producer.enqueue(declared, { n: 1 })
    await producer.close()
    const runnable = defineType({ ...declarationOf(declared), run: see })
    const { completed } = await queue.drain([runnable])
    expect(completed).toMatchObject([{ priority: 8, lane: 'system', payload: { n: 1 } }])
  })

  test('can enqueue by name what is registered, with the values of its type', async () => {
    const registered = defineType({ type: 'registered', lane: 'maintenance', priority: 2, maxAttempts: 9, run: see })
    await queue.holdfast.registerTypes([registered])
    const { id } = await queue.holdfast.enqueue('registered', { any: 'thing' })
    expect(await queue.holdfast.job(id)).toMatchObject({ lane: 'maintenance', priority: 2, maxAttempts: 9 })
  })

  test('is told the nearest name when the one it used is unknown, of hundreds', async () => {
    const many = Array.from({ length: 300 }, (_, n) => defineType({ type: `${'report_'.repeat(1 + (n % 7))}${n}` }))
    await queue.holdfast.registerTypes([...many, defineType({ type: 'resize_image' })])
    await expect(queue.holdfast.enqueue('resize_imgae', {})).rejects.toMatchObject({
      code: 'unknown_type',
      message: 'no job type named "resize_imgae" is registered (did you mean "resize_image"?)',
    })
    await expect(queue.holdfast.enqueue('Say "hi", please', {})).rejects.toMatchObject({
      code: 'unknown_type',
      message: 'no job type named "Say "hi", please" is registered',
    })
  })

  test('is told which lanes there are when its type names another', async () => {
    const lost = defineType({ type: 'lost', lane: 'interactiv' })
    await expect(queue.holdfast.enqueue(lost, 1)).rejects.toMatchObject({
      code: 'unknown_lane',
      message:
        /lane "interactiv", which does not exist \(did you mean "interactive"\?\); there are default, interactive, maintenance/,
    })
  })

  test('does not change what a worker has registered', async () => {
    const workers = defineType({ type: 'shared', priority: 7, run: see })
    await queue.drain([workers])
    await queue.holdfast.enqueue(defineType({ type: 'shared', priority: 1 }), 1)
    const { id } = await queue.holdfast.enqueue('shared', 2)
    expect(await queue.holdfast.job(id)).toMatchObject({ priority: 7 })
  })
})

/** What a producer and a worker would share in a file of their own. */
function declarationOf(declared: { type: string; lane: string; priority: number }) {
  return { type: declared.type, lane: declared.lane, priority: declared.priority, payload: z.object({ n: z.number() }) }
}
