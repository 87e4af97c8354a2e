import { readFileSync } from 'node:fs'
import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { runProgram } from '../support/processes.js'
import { makeQueue } from '../support/queue.js'

const chunked = defineType({ type: 'chunked' })
const worker = { lease: '2s' }

test('a worker that is killed in the middle of a call loses no job: what was committed stays, the others run again', async () => {
  const queue = await makeQueue()
  await queue.sql('create table orders (id text primary key)')
  const file = queue.ledger.beside('calls')
  const names = ['a', 'b', 'c', 'd']
  const jobs = await queue.holdfast.enqueueMany(
    names.map((name) => chunked.job({ name, file, first: name === 'a', killUntil: name === 'd' ? 2 : 0 })),
  )
  const settings = { database: queue.url, worker }
  expect((await runProgram('chunks-program', settings).exited).signal).toBe('SIGKILL')
  // Three are left, so that the second call is filled by one that was not there before.
  jobs.push(await queue.holdfast.enqueue(chunked, { name: 'e', file }))
  expect((await runProgram('chunks-program', settings).exited).signal).toBe('SIGKILL')
  runProgram('chunks-program', settings)
  // Those that were there at two crashes run alone from then on, in a process of their own; the last waits for others to fill its call.
  const suspects = jobs.slice(1, 4)
  for (const { id } of suspects) await queue.holdfast.wait(id, { timeout: '60s' })
  const more = ['f', 'g', 'h']
  jobs.push(...(await queue.holdfast.enqueueMany(more.map((name) => chunked.job({ name, file })))))
  expect(await Promise.all(jobs.map(({ id }) => queue.holdfast.wait(id, { timeout: '60s' })))).toEqual([...names, 'e', ...more])
  const calls = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(calls.slice(0, 2).map((call) => call.names.toSorted())).toEqual([names, ['b', 'c', 'd', 'e']])
  expect(
    calls
      .slice(2)
      .map((call) => call.names.toSorted().join(''))
      .toSorted(),
  ).toEqual(['b', 'c', 'd', 'efgh'])
  const attempts = async (id: string) => (await queue.holdfast.job(id))?.attempts.map(({ outcome }) => outcome)
  expect(await attempts(jobs[0]?.id as string)).toEqual(['completed'])
  for (const { id } of suspects) expect(await attempts(id)).toEqual(['lease_expired', 'lease_expired', 'completed'])
  expect(await queue.sql('select id from orders')).toEqual([{ id: 'a' }])
  expect(await queue.sql('select * from holdfast.find_drift()')).toEqual([])
})
