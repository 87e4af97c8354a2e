import { tmpdir } from 'node:os'
import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { Program } from '../support/holdfast-program.js'
import { makeQueue } from '../support/queue.js'

test('holdfast signal sends a signal that stands in the story of its job, and refuses what is no JSON', async () => {
  const queue = await makeQueue()
  const { id } = await queue.holdfast.enqueue(defineType({ type: 'waits' }), {})
  const send = async (payload: string) => {
    const program = new Program(tmpdir(), ['signal', id, 'go', payload, '--by', 'ada'], { env: { DATABASE_URL: queue.url } })
    return { code: await program.ended, output: program.output, complaints: program.complaints }
  }
  expect(await send('{"n": 7}')).toEqual({ code: 0, output: `sent go to ${id}\n`, complaints: '' })
  expect(await send('seven')).toMatchObject({ code: 1, complaints: expect.stringContaining('seven is not JSON') })
  expect((await queue.holdfast.job(id))?.signals).toMatchObject([{ name: 'go', payload: { n: 7 }, by: 'ada', delivered: false }])
})
