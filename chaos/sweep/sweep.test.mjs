import { expect, test } from 'vitest'
import { everything } from '../wire/trap.mjs'
import { casesOf, runCase } from './sweep.mjs'

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

test('a message that only a slow operation sends is no case, and one that is sent and never reached is one', async () => {
  const ask = (stage, url) => stage.enqueue((requests) => stage.producer(url).enqueueMany(requests), [{}])
  const asksTwiceWhen = (slow) => ({
    name: 'enqueue',
    watch: everything,
    async perform(stage, url) {
      await ask(stage, url)
      if (slow(stage)) await ask(stage, url)
    },
  })
  const lastOf = async (operation) => (await casesOf(server, operation)).filter(({ at }) => at.side === 'frontend').at(-1)
  let slow = true
  const once = await lastOf(asksTwiceWhen(() => slow))
  slow = false
  expect(await runCase(server, once, 500)).toMatchObject({ reached: false, unsent: true })
  const inLooksAlone = await lastOf(asksTwiceWhen((stage) => stage.patient))
  const facts = ['the message this case breaks was never sent']
  expect(await runCase(server, inLooksAlone, 500)).toMatchObject({ reached: false, unsent: false, facts })
})
