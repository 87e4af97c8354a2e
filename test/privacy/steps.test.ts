import { randomBytes } from 'node:crypto'
import { defineType, Holdfast } from 'holdfast'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const [old, fresh] = [0, 1].map(() => randomBytes(32).toString('base64')) as [string, string]

test('steps and signals of an encrypted type are encrypted, shown to nobody, and go on after the key was changed', async () => {
  const queue = await makeQueue()
  const open = (encryption: { keys: Record<string, string>; current: string }) => {
    const holdfast = new Holdfast({ connectionString: queue.url, encryption })
    onTestFinished(() => holdfast.close())
    return { ...queue, holdfast }
  }
  const type = defineType({
    type: 'secret',
    encrypt: true,
    async run(_, ctx) {
      const step = await ctx.step('first', () => 'a stored secret')
      return [step, await ctx.waitFor('go'), await ctx.waitFor('last')]
    },
  })
  const before = open({ keys: { old }, current: 'old' })
  const worker = await startHere(before, [type])
  const { id } = await before.holdfast.enqueue(type, {})
  await before.holdfast.signal(id, 'go', 'a signalled secret')
  await eventually(async () => (await before.holdfast.job(id))?.status === 'blocked')
  await worker.stop()
  await before.holdfast.signal(id, 'last', 'the last secret')
  const stored = await queue.sql(
    'select result::text as text from holdfast.steps union all select payload::text from holdfast.signals',
  )
  expect(stored.map(({ text }) => text).join()).not.toContain('secret')
  expect((await before.holdfast.job(id))?.steps[0]).toMatchObject({ name: 'first', result: { $encrypted: 'old' } })
  const both = open({ keys: { old, fresh }, current: 'fresh' })
  expect(await both.holdfast.reencrypt()).toMatchObject({ key: 'fresh', unreadable: {} })
  const after = open({ keys: { fresh }, current: 'fresh' })
  await startHere(after, [type])
  expect(await after.holdfast.wait(id)).toEqual(['a stored secret', 'a signalled secret', 'the last secret'])
  await expect(
    queue.sql(`select holdfast.signal($1, 'go', '"plain"')`, [(await after.holdfast.enqueue(type, {})).id]),
  ).rejects.toThrow('have to be encrypted')
})
