import { expect, test } from 'vitest'
import { everything } from '../wire/trap.mjs'
import { runCase } from './sweep.mjs'

const server = { url: process.env.HOLDFAST_TEST_URL, port: Number(new URL(process.env.HOLDFAST_TEST_URL).port || 5432) }
const firstMessageIsLost = { side: 'frontend', index: 0, fault: 'cut-before' }

/** An enqueue, before which something goes wrong as often as told. */
function enqueue(times, where) {
  const failing = { prepare: 0, perform: 0, settle: 0 }
  const may = (here) => {
    if (here === where && ++failing[here] <= times) throw new Error(`${here} took too long`)
  }
  const operation = {
    name: 'enqueue',
    watch: everything,
    prepare: () => may('prepare'),
    async perform(stage, url) {
      may('perform')
      await stage.enqueue((requests) => stage.producer(url).enqueueMany(requests), [{}])
    },
    settle: () => may('settle'),
  }
  return { operation, at: firstMessageIsLost }
}

test.each(['prepare', 'perform'])('a case in which nothing was broken yet when %s failed is tried again', async (where) => {
  expect(await runCase(server, enqueue(2, where))).toMatchObject({ reached: true, facts: [] })
})

test('a case that fails every time is reported, and so is one that fails once its message was broken', async () => {
  await expect(runCase(server, enqueue(3, 'prepare'))).rejects.toThrow('prepare took too long')
  await expect(runCase(server, enqueue(1, 'settle'))).rejects.toThrow('settle took too long')
})
