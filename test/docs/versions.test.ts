import { readFileSync } from 'node:fs'
import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { makeQueue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const page = readFileSync(new URL('../../docs/versions.md', import.meta.url), 'utf8')

test('the example of docs/versions.md runs as it stands, with payloads of every version', async () => {
  const queue = await makeQueue()
  const [, example = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? []
  const greet = new Function('defineType', `${example.replace('export ', '')}\nreturn greet`)(defineType)
  await startHere(queue, [greet])
  const jobs = await queue.holdfast.enqueueMany([
    { type: 'greet', payload: 'ada', version: 1 },
    { type: 'greet', payload: { name: 'bob' }, version: 2 },
    greet.job({ name: 'eve', language: 'fr' }),
  ])
  expect(await Promise.all(jobs.map((job) => queue.holdfast.wait(job)))).toEqual(['en: ada', 'en: bob', 'fr: eve'])
})
