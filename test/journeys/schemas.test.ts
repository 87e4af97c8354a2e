import { defineType, type Holdfast } from 'holdfast'
import { startWorker, type Worker } from 'holdfast/worker'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { onDatabase } from '../support/empty-database.js'
import { eventually } from '../support/facts.js'
import { quiet } from '../support/small-worker.js'
import { makeTwoSchemas, schemaNames as names, type TwoSchemas } from '../support/two-schemas.js'

const who = { by: 'ada', why: 'a test of schemas' }

interface Installation {
  holdfast: Holdfast
  worker: Worker
  ran: unknown[]
}

let two: TwoSchemas
const installations = new Map<string, Installation>()
const installation = (name: string) => installations.get(name) as Installation

beforeAll(async () => {
  two = await makeTwoSchemas()
  await two.each(open)
})
afterAll(async () => {
  for (const { worker } of installations.values()) await worker.stop()
  await two.end()
})

async function open(schema: string, holdfast: Holdfast): Promise<void> {
  const ran: unknown[] = []
  const type = defineType({
    type: 'mark',
    maxAttempts: 1,
    async run(payload: unknown) {
      if (payload === 'fail') throw new Error('as told')
      ran.push(payload)
    },
  })
  const worker = await startWorker(holdfast, [type], { logger: quiet })
  installations.set(schema, { holdfast, worker, ran })
}

const other = (name: string) => two.otherThan(name)
const done = (name: string, payload: unknown) => eventually(async () => installation(name).ran.includes(payload))

describe.each(names)('an installation in schema %s beside another one', (name) => {
  test('runs its own jobs and none of the other', async () => {
    const { holdfast } = installation(name)
    await holdfast.enqueue('mark', `one of ${name}`)
    await holdfast.enqueueMany(
      Array.from({ length: 50 }, (_, n) => ({ type: 'mark', payload: `${n} of ${name}`, idempotencyKey: `${n}` })),
    )
    await done(name, `one of ${name}`)
    for (let n = 0; n < 50; n++) await done(name, `${n} of ${name}`)
    expect(installation(other(name)).ran.filter((payload) => String(payload).endsWith(` of ${name}`))).toEqual([])
  })

  test('takes jobs in the transaction of its caller, and by SQL', async () => {
    const { holdfast } = installation(name)
    await onDatabase(two.database.connectionString, async (client) => {
      await client.query('begin')
      await holdfast.enqueue('mark', `in tx ${name}`, { tx: client })
      await client.query('commit')
      await client.query(`select from ${pg.escapeIdentifier(name)}.enqueue('mark', $1)`, [JSON.stringify(`by SQL ${name}`)])
    })
    await done(name, `in tx ${name}`)
    await done(name, `by SQL ${name}`)
  })

  test('has lanes, limits, pauses and an audit log of its own', async () => {
    const { holdfast } = installation(name)
    const beside = installation(other(name)).holdfast
    await holdfast.flow.limit('mark', { maxRunning: 2, maxRunningPerKey: 1 }, who)
    await holdfast.flow.pauseType('mark', who)
    const { id } = await holdfast.enqueue('mark', `paused ${name}`, { concurrencyKey: 'k' })
    expect((await holdfast.explain(id))?.gates[0]).toMatchObject({ gate: 'type_paused' })
    await beside.enqueue('mark', `not paused ${name}`)
    await done(other(name), `not paused ${name}`)
    expect((await beside.audit()).filter(({ action }) => action === 'pause_type').length).toBe(name === names[0] ? 0 : 1)
    await holdfast.flow.resumeType('mark', who)
    await done(name, `paused ${name}`)
  })

  test('has dead letters of its own, and replays them', async () => {
    const { holdfast } = installation(name)
    const { id } = await holdfast.enqueue('mark', 'fail')
    await eventually(async () => (await holdfast.job(id))?.status === 'dead')
    expect(await installation(other(name)).holdfast.job(id)).toBeUndefined()
    await holdfast.deadLetters.replay(id, who, { payload: `replayed ${name}` })
    await done(name, `replayed ${name}`)
  })

  test('wakes its own idle worker and not that of the other', async () => {
    const { holdfast } = installation(name)
    const channels = await onDatabase(two.database.connectionString, async (client) => {
      const heard: string[] = []
      client.on('notification', ({ channel }) => heard.push(channel))
      for (const one of names) {
        const schema = pg.escapeIdentifier(one)
        const channel = /^[a-z_0-9]+$/.test(one) ? one : schema
        await client.query(`listen ${pg.escapeIdentifier(`${channel}.lane_1`)}`)
        await client.query(`select from ${schema}.queue`)
      }
      await holdfast.enqueue('mark', `notified ${name}`)
      await done(name, `notified ${name}`)
      await client.query('select 1')
      return [...new Set(heard)]
    })
    expect(channels.filter((channel) => !channel.includes(name))).toEqual([])
  })
})
