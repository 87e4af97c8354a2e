import { defineType, defineWorkflow, FatalError } from 'holdfast'
import { type ScratchQueue, scratchQueue } from 'holdfast/testing'
import { afterEach, beforeEach, expect, test } from 'vitest'

let queue: ScratchQueue
beforeEach(async () => {
  queue = await scratchQueue()
})
afterEach(() => queue.close())

const legs = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
const relay = defineWorkflow({
  name: 'relay',
  tasks(task) {
    const run = async () => 'handed on'
    const all = legs.map((leg, at) => task(leg, { after: legs.slice(Math.max(0, at - 1), at), run }))
    return { last: all[legs.length - 1] as (typeof all)[number] }
  },
})

test('drain runs a workflow to its end: the jobs that follow the end of a task belong to it', async () => {
  const started = await queue.holdfast.start(relay, {})
  const { completed, left } = await queue.drain([relay], { allMustEnd: true })
  expect(completed.map((job) => job.type)).toEqual(legs.map((leg) => `relay.${leg}`))
  expect(left).toEqual([])
  expect(await queue.holdfast.executions.wait(started)).toEqual({ last: 'handed on' })
})

test('drain runs what follows a task that failed, of the workflow and of a type that it names', async () => {
  const told = defineType({ type: 'told', run() {} })
  const order = defineWorkflow({
    name: 'order',
    tasks(task) {
      const charge = task('charge', {
        run: () => {
          throw new FatalError('no money')
        },
      })
      task('refund', { after: [charge], when: 'failed', run: async () => 'given back' })
      task('tell', { after: [charge], when: 'always', type: told, payload: {} })
    },
  })
  await queue.holdfast.start(order, {})
  const { dead, completed } = await queue.drain([order, told], { allMustEnd: true })
  expect(dead.map((job) => job.type)).toEqual(['order.charge'])
  expect(completed.map((job) => job.type).sort()).toEqual(['order.refund', 'told'])
})
