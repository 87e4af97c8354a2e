import { describe, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { type Program, runProgram } from '../support/processes.js'
import { makeQueue, type Queue } from '../support/queue.js'

interface Zoo {
  queue: Queue
  worker: Program
  /** Enqueues one act and waits for its job to end. */
  run(payload: object): ReturnType<typeof ended>
}

async function openZoo(settings: { timeout?: string; listens?: boolean } = {}): Promise<Zoo> {
  const queue = await makeQueue()
  const worker = runProgram('zoo-program', { database: queue.url, ...settings })
  await worker.heard('ready')
  return { queue, worker, run: async (payload) => ended(queue, (await queue.holdfast.enqueue('zoo', payload)).id) }
}

async function ended({ holdfast }: Queue, id: string) {
  return eventually(async () => {
    const story = await holdfast.job(id)
    return story && ['completed', 'dead'].includes(story.status) ? story : undefined
  })
}

const text = (part: string) => ({ message: expect.stringContaining(part) })
const thrown: Record<string, object> = {
  undefined: { name: 'NonError', ...text('undefined') },
  null: { name: 'NonError', ...text('null') },
  zero: text('0 was thrown'),
  text: text('a plain text'),
  symbol: text('a symbol'),
  bigint: text('bigint'),
  function: text('a function'),
  frozen: text('an object with reason'),
  withoutPrototype: text('an object'),
  proxy: text(''),
  'proxy of proxies': text(''),
  'hostile fields': text(''),
  '50 MB': text('50000000 characters'),
  '10 MB of stack': text('with a long stack'),
  nul: text('with \ufffd and half a pair \ufffd in it'),
  circular: text('an error that holds itself'),
}

describe('the attempt is recorded and the worker lives when a handler', () => {
  test.each([
    ['throws', 'throws', { ...thrown, socket: text('an error that holds a socket') }],
    ['leaves a floating rejection of', 'floating', thrown],
    ['throws in a timer', 'timer', thrown],
  ])(
    '%s anything at all',
    async (_how, act, cases) => {
      const { run, worker } = await openZoo()
      for (const [what, error] of Object.entries(cases)) {
        const story = await run({ act, what })
        expect({ what, status: story.status, attempts: story.attempts }).toMatchObject({
          status: 'dead',
          attempts: [{ attempt: 1, outcome: 'failed', error }],
        })
      }
      expect(await run({ act: 'ordinary' })).toMatchObject({ status: 'completed' })
      expect(worker.said.filter(({ event }) => event === 'ready')).toHaveLength(1)
    },
    120_000,
  )

  test('returns what cannot be stored: the job is dead and says so, and the worker goes on', async () => {
    const { queue, run } = await openZoo()
    for (const what of ['200 MB', 'circular', 'bigint', 'function', 'symbol', 'hostile fields']) {
      const error = { code: 'invalid_result' }
      expect({ what, ...(await run({ act: 'returns', what })) }).toMatchObject({ status: 'dead', attempts: [{ error }] })
    }
    expect(await run({ act: 'ordinary' })).toMatchObject({ status: 'completed' })
    const [kept] = await queue.sql("select pg_total_relation_size('holdfast.history_rest')::int + sum(pg_total_relation_size(inhrelid))::int as bytes from pg_inherits where inhparent = 'holdfast.history'::regclass") // biome-ignore format: one statement
    expect(kept?.bytes).toBeLessThan(1_000_000)
  }, 120_000)

  test('never settles: the timeout frees its slot and the others run', async () => {
    const { queue, run, worker } = await openZoo({ timeout: '300ms' })
    // Twice as many as there are slots.
    const stuck = await Promise.all(Array.from({ length: 8 }, () => queue.holdfast.enqueue('zoo', { act: 'never' })))
    expect(await run({ act: 'ordinary' })).toMatchObject({ status: 'completed' })
    for (const { id } of stuck) {
      const { status, attempts } = await ended(queue, id)
      expect(status).toBe('dead')
      expect(attempts).toMatchObject([{ outcome: 'timed_out', error: { name: 'TimeoutError', ...text('timeout of 300 ms') } }])
    }
    expect(await run({ act: 'abortListener' })).toMatchObject({ status: 'dead', attempts: [{ outcome: 'timed_out' }] })
    expect(await run({ act: 'ordinary' })).toMatchObject({ status: 'completed' })
    await worker.heard('job.escaped', ({ error }) => error === 'the abort listener threw')
  }, 120_000)

  test('fails in the background after it has completed: the job stays completed, and the error is told', async () => {
    const { run, worker } = await openZoo()
    const { id } = await run({ act: 'floatingAfterwards' })
    await worker.heard('job.escaped', (said) => said.job === id && said.error === 'nobody waited for this')
    expect(worker.complaints()).toContain('nobody waited for this')
    expect(await run({ act: 'ordinary' })).toMatchObject({ status: 'completed' })
  })

  test('snoozes: it is called again later and no attempt is spent', async () => {
    const { run, worker } = await openZoo()
    const story = await run({ act: 'snooze', times: 3 })
    expect(story.status).toBe('completed')
    expect(story.attempts.map(({ attempt, outcome }) => [attempt, outcome])).toEqual([
      [1, 'snoozed'],
      [1, 'snoozed'],
      [1, 'snoozed'],
      [1, 'completed'],
    ])
    expect(worker.said.filter(({ event }) => event === 'ran').map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1])
  })
})

describe('an error that belongs to no handler', () => {
  test.each(['rejection', 'exception'])('ends the process as Node would have ended it: a %s', async (what) => {
    const { worker } = await openZoo()
    worker.signal(what === 'rejection' ? 'SIGUSR2' : 'SIGWINCH')
    expect(await worker.exited).toEqual({ code: 1, signal: null })
    expect(worker.complaints()).toContain(`${what} of the program itself`)
  })

  test('is left to the program where that listens, and only what it listens to', async () => {
    const { worker, run } = await openZoo({ listens: true })
    worker.signal('SIGUSR2')
    await worker.heard('heard a rejection')
    expect(await run({ act: 'ordinary' })).toMatchObject({ status: 'completed' })
    worker.signal('SIGWINCH')
    expect(await worker.exited).toEqual({ code: 1, signal: null })
  })
})
