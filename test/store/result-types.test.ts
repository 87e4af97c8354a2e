import { defineType, Holdfast } from 'holdfast'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

/** The driver's table of types belongs to the whole program, and programs do this to it. */
const timestamptz = 1184
const [bigint, integer, double, json, jsonb, uuid] = [20, 23, 701, 114, 3802, 2950]
let scratch: ScratchDatabase
let holdfast: Holdfast

beforeAll(async () => {
  for (const oid of [timestamptz, bigint, integer, double, json, jsonb, uuid]) {
    pg.types.setTypeParser(oid, (text: string) => ({ changedByTheProgram: text }))
  }
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  // A server may also write its dates in its own way.
  const url = new URL(scratch.connectionString)
  url.searchParams.set('options', '-c DateStyle=German')
  holdfast = new Holdfast({ connectionString: url.href })
})

afterAll(async () => {
  await holdfast.close()
  await scratch.drop()
})

test('a program that has changed how the driver reads values changes nothing for Holdfast', async () => {
  const seen: unknown[] = []
  const begun = Date.now()
  const job = defineType({
    type: 'typed',
    backoff: () => 0,
    async run(payload, ctx) {
      seen.push(payload, ctx.job.attempt, ctx.job.createdAt instanceof Date, ctx.fence > 0n)
      if (ctx.job.attempt === 1) throw new Error('once')
    },
  })
  const { id } = await holdfast.enqueue(job, { n: 1 })
  const worker = await startWorker(holdfast, [job], { logger: { info() {}, warn() {}, error() {} } })
  try {
    await vi.waitFor(async () => expect((await holdfast.job(id))?.status).toBe('completed'), { timeout: 20_000, interval: 50 })
  } finally {
    await worker.stop()
  }
  expect(seen).toEqual([{ n: 1 }, 1, true, true, { n: 1 }, 2, true, true])
  const story = await holdfast.job(id)
  expect(story).toMatchObject({ id, attempt: 2, payload: { n: 1 }, attempts: [{ error: { message: 'once' } }, { error: null }] })
  for (const time of [story?.createdAt, story?.finishedAt, story?.attempts[0]?.endedAt]) {
    expect(Math.abs((time as Date).getTime() - begun)).toBeLessThan(60_000)
  }
})
