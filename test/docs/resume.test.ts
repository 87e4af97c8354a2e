import { defineType, FatalError } from 'holdfast'
import { expect, test } from 'vitest'
import { blocks, docsPage, runExample } from '../support/docs-page.js'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const page = docsPage('resume.md')

test('docs/resume.md: a cancelled job goes on behind its steps, and an edited one begins again with a key that says what it is about', async () => {
  const queue = await makeQueue()
  const { holdfast } = queue
  const [definition = '', moves = '', edited = ''] = blocks(page, 'js')
  const done: unknown[] = []
  const given = {
    defineType,
    collect: (month: string) => done.push(['collect', month]),
    send: (mail: { key: string }) => {
      done.push(['send', mail.key])
      throw new FatalError('the mail server refuses')
    },
  }
  const report = await runExample(`${definition}\nreturn report`, given)
  await startHere(queue, [report])
  const { id } = await holdfast.enqueue(report, { month: 'March' })
  const isNow = (status: string) => eventually(async () => (await holdfast.job(id))?.status === status)
  await isNow('blocked')
  await runExample(moves, { holdfast, id })
  await isNow('dead')
  expect(done).toEqual([
    ['collect', 'March'],
    ['send', `${id}:send:March`],
  ])
  await runExample(edited, { holdfast, dead: { id } })
  await isNow('blocked')
  await holdfast.signal(id, 'address', 'board@example.com')
  await isNow('dead')
  expect(done.slice(2)).toEqual([
    ['collect', 'April'],
    ['send', `${id}:send:April`],
  ])
  const story = await holdfast.job(id)
  expect(story?.changes.map(({ move, by }) => `${move} ${by}`)).toEqual(['resume grace', 'replay ada'])
})

test('docs/resume.md has SQL that resumes a job', async () => {
  const queue = await makeQueue()
  const { id } = await queue.holdfast.enqueue(defineType({ type: 'plain', run() {} }), {})
  await queue.holdfast.cancel(id, { by: 'ada' })
  const [statement = ''] = blocks(page, 'sql')
  expect(await queue.sql(statement.replace('…', id))).toMatchObject([{ done: true, was: 'cancelled', status: 'pending' }])
})
