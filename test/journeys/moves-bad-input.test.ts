import { defineType, Holdfast } from 'holdfast'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const by = { by: 'ada', why: 'the customer asked' }
const unknownId = '018f0000-0000-7000-8000-000000000000'
let scratch: ScratchDatabase
let holdfast: Holdfast

beforeAll(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  holdfast = new Holdfast({ connectionString: scratch.connectionString })
  await holdfast.registerTypes([defineType({ type: 'moved' })])
})
afterAll(async () => {
  await holdfast.close()
  await scratch.drop()
})

describe('a move that cannot be meant', () => {
  const wrong: [string, () => Promise<unknown>, object][] = [
    ['an id nobody has', () => holdfast.cancel(unknownId, by), { code: 'not_found' }],
    ['an id nobody has, to run now', () => holdfast.runNow(unknownId, by), { code: 'not_found' }],
    ['an id nobody has, to reschedule', () => holdfast.reschedule(unknownId, { delay: 1_000 }, by), { code: 'not_found' }],
    ['an id nobody has, for a priority', () => holdfast.setPriority(unknownId, 1, by), { code: 'not_found' }],
    ['an id that is none', () => holdfast.cancel("'; drop schema holdfast", by), { code: 'invalid_option', field: 'id' }],
    ['nobody', () => holdfast.cancel(unknownId, { by: ' ' }), { code: 'invalid_option', field: 'by' }],
    ['no who at all', () => holdfast.cancel(unknownId, undefined as never), { code: 'invalid_option', field: 'by' }],
    ['a reason too long', () => holdfast.cancel(unknownId, { by: 'a', why: 'x'.repeat(501) }), { field: 'why' }],
    ['a reason with NUL', () => holdfast.cancel(unknownId, { by: 'a', why: '\0' }), { field: 'why' }],
    ['a priority of 10', () => holdfast.setPriority(unknownId, 10, by), { field: 'priority' }],
    ['two times', () => holdfast.reschedule(unknownId, { delay: 1, runAt: new Date() } as never, by), { field: 'runAt' }],
    ['no time', () => holdfast.reschedule(unknownId, {} as never, by), { field: 'runAt' }],
    ['a time that is none', () => holdfast.reschedule(unknownId, { runAt: new Date('x') }, by), { field: 'runAt' }],
    ['an empty filter', () => holdfast.cancelMany({}, by), { field: 'filter' }],
    ['a filter of undefined', () => holdfast.cancelMany({ type: undefined as never }, by), { field: 'filter' }],
    ['a filter that is misspelt', () => holdfast.cancelMany({ prioritty: 1 } as never, by), { message: expect.stringContaining('priority') }],
    ['a type nobody registered', () => holdfast.cancelMany({ type: 'moveed' }, by), { code: 'unknown_type', message: expect.stringContaining('"moved"') }],
    ['a lane there is not', () => holdfast.cancelMany({ lane: 'defualt' }, by), { code: 'unknown_lane', message: expect.stringContaining('"default"') }],
    ['jobs that have ended', () => holdfast.cancelMany({ status: 'completed' as never }, by), { field: 'status' }],
  ] // biome-ignore format: one line each
  it.each(wrong)('is refused: %s', async (_, ask, error) => {
    await expect(ask()).rejects.toMatchObject(error)
  })
})
