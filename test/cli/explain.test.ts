import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { reach } from '../support/cli.js'

const email = defineType({ type: 'send_email' })

test('holdfast explain names every gate that is shut, the first one first, and what opens it', async () => {
  const { queue, both } = await reach()
  const { holdfast } = queue
  await holdfast.registerTypes([email])
  await holdfast.flow.pauseType('send_email', { by: 'ada', why: 'the mail server is down' })
  const { id } = await holdfast.enqueue(email, { to: 'grace@example.com' })
  expect((await both('explain', id)).split('\n')).toEqual([
    `${id}  send_email  pending`,
    '',
    '  send_email was paused by ada (the mail server is down)',
    '  opens with resuming send_email',
    '',
    'and then:',
    '  no live worker handles send_email',
    '  opens with starting a worker with send_email',
  ])
  expect(JSON.parse(await both('explain', id, '--json'))).toMatchObject({ id, status: 'pending', gates: [{ held_by: [] }, {}] })
})

test('a job that does not exist, and an id that is none, are said in one line', async () => {
  const { both } = await reach()
  expect(await both('explain', '01890000-0000-7000-8000-000000000001')).toMatch(/^1 holdfast: there is no job 01890000-[^\n]*$/)
  expect(await both('explain', 'nonsense')).toBe('1 holdfast: there is no schedule named "nonsense"')
})

test('holdfast resume takes up a cancelled job, and holdfast signal sends one a signal', async () => {
  const { queue, eachWay, both } = await reach()
  const { id } = await queue.holdfast.enqueue(email, {})
  for (const type of [eachWay.database, eachWay.http]) {
    await queue.holdfast.cancel(id, { by: 'ada' })
    expect(await type('resume', id, '--why', 'needed after all')).toBe(`resumed ${id}; it is pending`)
    expect(await type('resume', id)).toMatch(/^1 holdfast: nothing was changed: it was already resumed by/)
    expect(await type('signal', id, 'go', '{"n": 7}')).toBe(`sent go to ${id}`)
  }
  expect(await both('signal', id, 'go', 'seven')).toMatch(/^2 holdfast: payload is not JSON: /)
  const { changes, signals } = (await queue.holdfast.job(id)) ?? {}
  expect(changes?.filter(({ move }) => move === 'resume')).toMatchObject([
    { why: 'needed after all' },
    { why: 'needed after all' },
  ])
  expect(signals).toMatchObject([
    { name: 'go', payload: { n: 7 }, delivered: false },
    { name: 'go', payload: { n: 7 }, by: 'admin' },
  ])
})
