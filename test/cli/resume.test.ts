import { tmpdir } from 'node:os'
import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { Program } from '../support/holdfast-program.js'
import { makeQueue } from '../support/queue.js'

test('holdfast resume takes up a cancelled job, and says why it does not take up one that is not', async () => {
  const queue = await makeQueue()
  const { id } = await queue.holdfast.enqueue(defineType({ type: 'stopped' }), {})
  await queue.holdfast.cancel(id, { by: 'ada' })
  const resume = async () => {
    const program = new Program(tmpdir(), ['resume', id, '--why', 'needed after all'], { env: { DATABASE_URL: queue.url } })
    return { code: await program.ended, output: program.output, complaints: program.complaints }
  }
  expect(await resume()).toEqual({ code: 0, output: `resumed ${id}; it is pending\n`, complaints: '' })
  expect(await resume()).toMatchObject({ code: 1, complaints: expect.stringContaining('it was already resumed by') })
  expect((await queue.holdfast.job(id))?.changes).toMatchObject([{ move: 'resume', why: 'needed after all' }])
})
