// How a program's own tests look with node:test. Run by test/testing/scratch-queue.sized.test.ts in a process of its own; the
// package is found through HOLDFAST_DIST, where a user would write 'holdfast' and 'holdfast/testing'.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'

const { defineType } = await import(`${process.env.HOLDFAST_DIST}/index.js`)
const { scratchQueue } = await import(`${process.env.HOLDFAST_DIST}/testing/index.js`)

const sums = []
const add = defineType({
  type: 'add',
  run({ a, b }) {
    sums.push(a + b)
  },
})

describe('adding in the background', () => {
  it('happens when the queue is drained', async () => {
    const queue = await scratchQueue()
    try {
      await queue.holdfast.enqueue(add, { a: 1, b: 2 })
      await queue.assertEnqueued(add, { a: 1 }, { count: 1 })
      const { completed } = await queue.drain([add])
      assert.equal(completed.length, 1)
      assert.deepEqual(sums, [3])
    } finally {
      await queue.close()
    }
  })

  it('happens tomorrow when it was put off until then', async () => {
    const queue = await scratchQueue()
    try {
      await queue.holdfast.enqueue(add, { a: 3, b: 4 }, { delay: '1d' })
      assert.equal((await queue.drain([add])).completed.length, 0)
      await queue.clock.advance('1d')
      assert.equal((await queue.drain([add])).completed.length, 1)
    } finally {
      await queue.close()
    }
  })

  it('shows in its failure what was enqueued instead', async () => {
    const queue = await scratchQueue()
    try {
      await queue.holdfast.enqueue(add, { a: 5, b: 6 })
      await assert.rejects(queue.assertEnqueued(add, { a: 6 }), /in the queue:\n {2}add pending, priority 5: { a: 5, b: 6 }/)
    } finally {
      await queue.close()
    }
  })
})
