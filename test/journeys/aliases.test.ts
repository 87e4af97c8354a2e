import { defineType } from 'holdfast'
import { describe, expect, test } from 'vitest'
import { makeQueue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const renamed = new URL('../support/renamed-handlers.mjs', import.meta.url)
const long = { timeout: '60s' }

test('a worker of a renamed type runs the jobs of its old names, those enqueued before it and after it', async () => {
  const { holdfast, ...queue } = await makeQueue()
  const before = await holdfast.enqueue(defineType({ type: 'send_mail' }), { to: 'ada' }, { priority: 3 })
  await startHere({ ...queue, holdfast }, renamed)
  expect(await holdfast.wait(before, long)).toEqual({ to: 'ada', as: 'send_mail' })
  for (const name of ['send_email', 'mail', 'draw', 'render']) {
    expect(await holdfast.wait(await holdfast.enqueue(name, { to: name }), long)).toEqual({ to: name, as: name })
  }
  const sendEmail = defineType({ type: 'send_email', aliases: ['send_mail'] })
  expect(await holdfast.wait(before.id, { type: sendEmail })).toMatchObject({ to: 'ada' })
  expect(await holdfast.job(before.id)).toMatchObject({ type: 'send_mail', status: 'completed' })
})

describe('an alias is refused', () => {
  const run = () => {}
  const one = defineType({ type: 'one', aliases: ['old'], run })

  test('where it is another type of the worker, or an alias of two', async () => {
    const queue = await makeQueue()
    const old = defineType({ type: 'old', run })
    const two = defineType({ type: 'two', aliases: ['old'], run })
    const taken = {
      code: 'duplicate_handler',
      message: 'old is an alias of one and a type of its own; a job of that name has one handler',
    }
    await expect(startHere(queue, [one, old])).rejects.toMatchObject(taken)
    await expect(startHere(queue, [old, one])).rejects.toMatchObject(taken)
    await expect(startHere(queue, [one, two])).rejects.toMatchObject({
      code: 'duplicate_handler',
      message: 'old is an alias of both one and two; a job of that name has one handler',
    })
  })

  test('where it is no name, stands twice, or is the name of today', () => {
    const define = (aliases: unknown) => () => defineType({ type: 'one', aliases: aliases as string[], run })
    expect(define(['a b'])).toThrow('aliases[0] is "a b"; a type name has')
    expect(define(['old', 'old'])).toThrow('aliases of one has old twice')
    expect(define(['one'])).toThrow('is its name of today')
    expect(define('old')).toThrow('aliases of one must be a list')
  })
})
