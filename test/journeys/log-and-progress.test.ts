import { defineType } from 'holdfast'
import { describe, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const talkers = new URL('../support/isolation/talkers.mjs', import.meta.url)
const places = ['inline', 'thread', 'process']

async function ends(queue: Queue, id: string, status: string): Promise<void> {
  await eventually(async () => (await queue.holdfast.job(id))?.status === status, { within: 60_000 })
}

describe('what a handler says', () => {
  test.each(places)('in a place called %s is seen while it runs: progress, and its lines in order', async (place) => {
    const queue = await makeQueue()
    await startHere(queue, talkers)
    const wait = queue.ledger.beside('go')
    const { id } = await queue.holdfast.enqueue(`talk_${place}`, { lines: 5, wait })
    await eventually(async () => (await queue.holdfast.job(id))?.progress?.fraction === 1, { within: 60_000 })
    const story = await queue.holdfast.job(id)
    expect(story).toMatchObject({ status: 'processing', progress: { attempt: 1, fraction: 1, note: 'at 5' } })
    const lines = await queue.holdfast.log(id)
    expect(lines.map(({ line }) => line)).toEqual([1, 2, 3, 4, 5].map((n) => `line ${n} of 5`))
    queue.ledger.open('go')
    await ends(queue, id, 'completed')
  })

  test.each(places)('in a place called %s is there when the job has ended, to its last line', async (place) => {
    const queue = await makeQueue()
    await startHere(queue, talkers)
    for (let round = 0; round < 5; round++) {
      const { id } = await queue.holdfast.enqueue(`talk_${place}`, { lines: 20 })
      await ends(queue, id, 'completed')
      expect(await queue.holdfast.log(id)).toHaveLength(20)
      expect((await queue.holdfast.job(id))?.progress).toMatchObject({ fraction: 1, note: 'at 20' })
    }
  })

  test('after its job was cancelled and forgotten is not kept', async () => {
    const queue = await makeQueue()
    let tell = () => {}
    const told = new Promise<void>((resolve) => {
      tell = resolve
    })
    const deaf = defineType({
      type: 'deaf',
      async run(_, { log, progress }) {
        log('before')
        await told
        log('after')
        progress(1)
      },
    })
    const worker = await startHere(queue, [deaf], { drain: '30s' })
    const { id } = await queue.holdfast.enqueue(deaf, null)
    await eventually(async () => (await queue.holdfast.log(id)).length === 1)
    await queue.holdfast.cancel(id, { by: 'ada' })
    expect(await queue.holdfast.forget(id, { by: 'ada' })).toMatchObject({ done: true })
    tell()
    await worker.stop()
    expect(await queue.sql('select job_id from holdfast.log_lines union all select job_id from holdfast.progress')).toEqual([])
  })

  test('is kept while it cannot be written, and the worker says so in its health until it is', async () => {
    const queue = await makeQueue()
    const worker = await startHere(queue, talkers)
    await queue.sql('alter table holdfast.log_lines add constraint refused check (false) not valid')
    const { id } = await queue.holdfast.enqueue('talk_inline', { lines: 3 })
    await ends(queue, id, 'completed')
    const said = () => worker.health().warnings?.find((warning) => warning.startsWith('the log writer has failed for'))
    await eventually(async () => said()?.includes('refused') ?? false)
    expect(worker.health()).toMatchObject({ status: 'ok' })
    await queue.sql('alter table holdfast.log_lines drop constraint refused')
    await eventually(async () => (await queue.holdfast.log(id)).length === 3)
    await eventually(async () => said() === undefined)
  })

  test('can be read on from any line', async () => {
    const queue = await makeQueue()
    await startHere(queue, talkers)
    const { id } = await queue.holdfast.enqueue('talk_inline', { lines: 30 })
    await eventually(async () => (await queue.holdfast.log(id)).length === 30)
    const first = await queue.holdfast.log(id, { limit: 10 })
    const rest = await queue.holdfast.log(id, { after: first.at(-1)?.id as string })
    expect([...first, ...rest].map(({ line }) => line)).toEqual(Array.from({ length: 30 }, (_, n) => `line ${n + 1} of 30`))
  })

  test('is written by the time its worker has stopped, also when it was said last', async () => {
    const queue = await makeQueue()
    const worker = await startHere(queue, talkers)
    const { id } = await queue.holdfast.enqueue('talk_inline', { lines: 2_500 })
    await ends(queue, id, 'completed')
    await worker.stop()
    expect(await queue.sql('select count(*)::int as lines from holdfast.log_lines where job_id = $1', [id])).toEqual([
      { lines: 2_500 },
    ])
  })

  test('of an earlier attempt never takes the place of what a later one said', async () => {
    const queue = await makeQueue()
    const note =
      'select holdfast.write_log(array[$1::uuid], array[$2::smallint], array[0.5::real], array[$3::text], array[null::text], array[0::float8])'
    const { id } = await queue.holdfast.enqueue(defineType({ type: 'work' }), {})
    await queue.sql(note, [id, 2, 'the second'])
    await queue.sql(note, [id, 1, 'the first, late'])
    expect((await queue.holdfast.job(id))?.progress).toMatchObject({ attempt: 2, note: 'the second' })
  })

  test('may be anything: it is cut and cleaned, and a number that is no progress is the handler’s mistake', async () => {
    const queue = await makeQueue()
    const odd = defineType({
      type: 'odd',
      maxAttempts: 1,
      run(payload, { log, progress }) {
        log(`nul \0 and half a pair \ud800 and ${'x'.repeat(10_000)}`)
        log.error(undefined as never)
        progress(payload as number)
      },
    })
    await startHere(queue, [odd])
    const { id } = await queue.holdfast.enqueue(odd, 1.5)
    await ends(queue, id, 'dead')
    const [long, nothing] = await eventually(async () => {
      const lines = await queue.holdfast.log(id)
      return lines.length === 2 && lines
    })
    expect(long?.line).toHaveLength(4_000)
    expect(long?.line.startsWith('nul \uFFFD and half a pair \uFFFD and xxx')).toBe(true)
    expect(nothing).toMatchObject({ level: 'error', line: 'undefined' })
    const story = await queue.holdfast.job(id)
    expect(story?.attempts[0]?.error).toMatchObject({
      message: 'progress is 1.5; it must be a number from 0 to 1, such as done / total',
    })
  })
})

describe('a checkpoint', () => {
  test.each(places)('kept in a place called %s is where the next attempt goes on', async (place) => {
    const queue = await makeQueue()
    await startHere(queue, talkers)
    const { id } = await queue.holdfast.enqueue(`count_${place}`, { to: 3 })
    await ends(queue, id, 'completed')
    await eventually(async () => (await queue.holdfast.log(id)).length === 3)
    expect((await queue.holdfast.log(id)).map(({ attempt, line }) => [attempt, line])).toEqual([
      [1, 'did 1'],
      [2, 'did 2'],
      [3, 'did 3'],
    ])
  })

  test('outlives the process that made it', async () => {
    const queue = await makeQueue()
    await startHere(queue, talkers, { quarantineAfter: 5 })
    const { id } = await queue.holdfast.enqueue('count_process', { to: 2, crash: true })
    await ends(queue, id, 'completed')
    expect((await queue.holdfast.job(id))?.attempts.map(({ outcome }) => outcome)).toEqual(['crashed', 'completed'])
  })

  test('is refused to an attempt that no longer holds its lease', async () => {
    const queue = await makeQueue()
    const { id } = await queue.holdfast.enqueue(defineType({ type: 'work' }), {})
    const saved = await queue.sql(`select holdfast.save_checkpoint($1, 1, '{"done": 1}') as saved`, [id])
    expect(saved).toEqual([{ saved: false }])
    expect(await queue.sql('select from holdfast.checkpoints')).toEqual([])
  })
})
