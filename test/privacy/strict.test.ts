import { randomBytes } from 'node:crypto'
import { defineType, Holdfast } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { quiet, type Serving, serve } from '../support/serving.js'

const keys = { keys: { one: randomBytes(32).toString('base64') }, current: 'one' }
const refused = 'is stored in plain, and those of charge are encrypted; encryption.strict trusts only'
const ran: unknown[] = []
const charge = defineType({
  type: 'charge',
  encrypt: true,
  async run(payload, { lastCheckpoint }) {
    ran.push([payload, await lastCheckpoint()])
  },
})
const note = defineType({ type: 'note', run: (payload) => void ran.push(payload) })
let serving: Serving
beforeAll(async () => {
  serving = await serve({}, { encryption: { ...keys, strict: true } })
  await serving.holdfast.registerTypes([charge, note], { update: true })
})
afterAll(() => serving.end())

/** What somebody does who can write to the table. */
async function forge(id: string): Promise<string> {
  await serving.sql.query(`update holdfast.bodies set payload = '{"to":"mallory"}' where id = $1`, [id])
  return id
}
const later = { delay: '1h' } as const
const ended = (id: string) =>
  eventually(async () => {
    const job = await serving.holdfast.job(id)
    return job && ['completed', 'dead'].includes(job.status) ? job : undefined
  })

test('a strict worker takes no plain payload and no plain checkpoint of an encrypted type, and others as ever', async () => {
  const { holdfast, sql } = serving
  const [good, plain, halfway] = await holdfast.enqueueMany([1, 2, 3].map((n) => charge.job({ n }, later)))
  const { id: other } = await holdfast.enqueue(note, { text: 'hello' }, later)
  const forged = await forge(plain?.id as string)
  await sql.query(`insert into holdfast.checkpoints (job_id, attempt, value, at) values ($1, 1, '{"to":"mallory"}', now())`, [
    halfway?.id,
  ])
  expect(await holdfast.job(forged)).toMatchObject({ payload: { $refused: 'stored in plain' } })
  expect(await (await serving.ask(`/jobs/${forged}`)).json()).toMatchObject({ payload: { $refused: 'stored in plain' } })
  expect(await holdfast.job(other)).toMatchObject({ payload: { text: 'hello' } })
  const worker = await startWorker(holdfast, [charge, note], { logger: quiet })
  onTestFinished(() => worker.stop())
  await holdfast.runNowMany({ status: 'scheduled' }, { by: 'ada' })
  expect(await ended(good?.id as string)).toMatchObject({ status: 'completed' })
  expect(await ended(other)).toMatchObject({ status: 'completed' })
  for (const [id, what] of [
    [forged, 'payload'],
    [halfway?.id as string, 'checkpoint'],
  ] as const) {
    const error = { name: 'FatalError', message: expect.stringContaining(`the ${what} ${refused}`) }
    expect(await ended(id)).toMatchObject({ status: 'dead', attempts: [{ outcome: 'failed', error }] })
  }
  expect(ran).toHaveLength(2)
  expect(JSON.stringify(ran)).not.toContain('mallory')
})

test('a strict server hands a remote worker no plain payload of an encrypted type', async () => {
  const ask = async (path: string, body: object) => (await serving.call('POST', `/worker/${path}`, body)).json()
  const { worker } = await ask('register', { name: 'w', types: ['charge'] })
  const [plain, good] = await serving.holdfast.enqueueMany([1, 2].map((n) => charge.job({ n }, later)))
  const forged = await forge(plain?.id as string)
  await serving.holdfast.runNowMany({ type: 'charge' }, { by: 'ada' })
  expect((await ask('claim', { worker, wait: '10s', limit: 10 })).jobs).toMatchObject([{ id: good?.id, payload: { n: 2 } }])
  const error = { message: expect.stringContaining(`the payload ${refused}`) }
  expect(await serving.holdfast.job(forged)).toMatchObject({ status: 'dead', attempts: [{ error }] })
})

test('strict re-encryption does not make a plain payload look genuine; without strict it encrypts it', async () => {
  const forged = await forge((await serving.holdfast.enqueue(charge, { n: 1 }, later)).id)
  const { unreadable } = await serving.holdfast.reencrypt()
  expect(Object.keys(unreadable)).toContainEqual(expect.stringContaining(`the payload ${refused}`))
  expect(await serving.holdfast.job(forged)).toMatchObject({ payload: { $refused: 'stored in plain' } })
  const { connectionString } = insideOf(serving.holdfast).store.database.clientConfig
  const lenient = new Holdfast({ connectionString: connectionString as string, encryption: keys })
  onTestFinished(() => lenient.close())
  expect((await lenient.job(forged))?.payload).toEqual({ to: 'mallory' })
  expect((await lenient.reencrypt()).unreadable).toEqual({})
  expect(await serving.holdfast.job(forged)).toMatchObject({ payload: { $encrypted: 'one' } })
})

test('the environment switches it on, and a word that is no switch is refused instead of ignored', async () => {
  const before = { ...process.env }
  onTestFinished(() => {
    process.env = before
  })
  process.env.HOLDFAST_ENCRYPTION_KEYS = `one:${keys.keys.one}`
  process.env.HOLDFAST_ENCRYPTION_STRICT = '1'
  const { connectionString } = insideOf(serving.holdfast).store.database.clientConfig
  const make = () => new Holdfast({ connectionString: connectionString as string })
  const strict = make()
  onTestFinished(() => strict.close())
  const forged = await forge((await serving.holdfast.enqueue(charge, { n: 1 }, later)).id)
  expect((await strict.job(forged))?.payload).toEqual({ $refused: 'stored in plain' })
  process.env.HOLDFAST_ENCRYPTION_STRICT = 'yes please'
  expect(make).toThrow('HOLDFAST_ENCRYPTION_STRICT is "yes please"; it must be 1 or 0')
})
