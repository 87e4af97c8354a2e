import { type AnyJobType, defineSchedule, defineType, defineWorkflow } from 'holdfast'
import { HoldfastClient } from 'holdfast/client'
import { startRemoteWorker } from 'holdfast/remote-worker'
import { createServer } from 'holdfast/server'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { adminKey, quiet } from '../support/serving.js'
import { makeTwoSchemas, schemaNames, type TwoSchemas } from '../support/two-schemas.js'

/** Two installations do the same things under the same names and ids at once, and each finds what is its own. */
const who = { by: 'ada', why: 'a test of schemas' }
/** UUIDv7s of now, the same in both. */
const idOfNow = (n: number) => {
  const ms = Date.now().toString(16).padStart(12, '0')
  return `${ms.slice(0, 8)}-${ms.slice(8)}-7000-8000-${String(n).padStart(12, '0')}`
}
const [jobId, batchId, executionId] = [idOfNow(1), idOfNow(2), idOfNow(3)]

let two: TwoSchemas
const ends: (() => unknown)[] = []
/** What ran, by installation. */
const ran = new Map<string, string[]>()
const addresses = new Map<string, string>()

beforeAll(async () => {
  two = await makeTwoSchemas()
  ends.length = 0
  await two.each(async (name, holdfast) => {
    ran.set(name, [])
    const mark = (what: string) => {
      ran.get(name)?.push(what)
      return `${what}, in ${name}`
    }
    const types = [
      defineType({ type: 'mark', run: (what: string) => mark(what) }),
      defineType({ type: 'beat', run: (of: string) => mark(`beat of ${of}`) }),
    ] as AnyJobType[]
    const workflow = defineWorkflow({
      name: 'order',
      tasks(task) {
        const charge = task('charge', { run: () => mark('charge') })
        return task('mail', { after: [charge], run: async (_, { parents }) => mark(`mail after ${(await parents()).charge}`) })
      },
    })
    const schedules = [defineSchedule({ name: 'heart', type: 'beat', payload: name, every: '1s' })]
    const worker = await startWorker(holdfast, [...types, workflow], { schedules, logger: quiet })
    const server = createServer(holdfast, { adminKey, logger: quiet })
    const url = await server.listen({ host: '127.0.0.1', port: 0 })
    addresses.set(name, url)
    const draw = defineType({ type: 'draw', run: (what: string) => mark(`drew ${what}`) }) as AnyJobType
    const remote = await startRemoteWorker({ url, key: adminKey }, [draw], { logger: quiet })
    ends.push(async () => {
      await remote.stop({ now: true })
      await worker.stop()
      await server.close()
    })
  })
})
afterAll(async () => {
  await Promise.all(ends.map((end) => end()))
  await two.end()
})

test('who waits gets the result of the job of their own installation, also where both have the same id', async () => {
  const results = await two.each(async (name, holdfast) => {
    await holdfast.enqueue('mark', `waited for by ${name}`, { id: jobId })
    return holdfast.wait(jobId)
  })
  expect(results).toEqual(schemaNames.map((name) => `waited for by ${name}, in ${name}`))
})

test('a schedule of one name ticks in both, and an operator of one pauses their own', async () => {
  const beats = (name: string) => ran.get(name)?.filter((what) => what.startsWith('beat of')) ?? []
  await two.each((name) => eventually(() => beats(name).length >= 2))
  await two.each(async (name) => expect([...new Set(beats(name))]).toEqual([`beat of ${name}`]))
  const [one, other] = schemaNames
  await two.holdfast(one).schedules.pause('heart', who)
  expect(await two.holdfast(one).schedules.get('heart')).toMatchObject({ status: 'paused' })
  expect(await two.holdfast(other).schedules.get('heart')).toMatchObject({ status: 'active' })
  const before = beats(other).length
  await eventually(() => beats(other).length > before)
})

test('a batch of one is unknown to the other, and each has one end', async () => {
  const batches = await two.each((name, holdfast) =>
    holdfast.batch({
      id: batchId,
      jobs: Array.from({ length: 3 }, (_, n) => ({ type: 'mark', payload: `member ${n} of ${name}` })),
      onSuccess: { type: 'mark', payload: `all of ${name}` },
    }),
  )
  await two.each(async (name, holdfast) => {
    const { id } = batches[schemaNames.indexOf(name)] as { id: string }
    await eventually(() => ran.get(name)?.includes(`all of ${name}`))
    expect(await holdfast.batches.get(id)).toMatchObject({ status: 'succeeded', completed: 3, total: 3 })
  })
  expect(schemaNames.flatMap((name) => ran.get(name)?.filter((what) => what.includes(two.otherThan(name))))).toEqual([])
})

test('an execution of a workflow of one name has the tasks and the output of its installation', async () => {
  const outputs = await two.each(async (_, holdfast) => {
    const started = await holdfast.start('order', {}, { id: executionId })
    return holdfast.executions.wait(started.id)
  })
  expect(outputs).toEqual(schemaNames.map((name) => `mail after charge, in ${name}, in ${name}`))
})

test('each has its server and its remote worker over HTTP, and a key of one opens nothing of the other', async () => {
  await two.each(async (name, holdfast) => {
    const { key } = await holdfast.access.createKey({ service: 'shop', roles: ['admin'] }, who)
    const client = new HoldfastClient({ url: addresses.get(name) as string, key })
    const { id } = await client.enqueue('draw', `for ${name}`)
    expect(await client.wait(id)).toMatchObject({ status: 'completed', result: `drew for ${name}, in ${name}` })
    const beside = new HoldfastClient({ url: addresses.get(two.otherThan(name)) as string, key })
    await expect(beside.job(id)).rejects.toMatchObject({ status: 401 })
    const operator = new HoldfastClient({ url: addresses.get(two.otherThan(name)) as string, key: adminKey })
    expect(await operator.job(id)).toBeUndefined()
  })
})
