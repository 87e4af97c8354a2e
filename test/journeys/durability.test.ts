import { defineType, Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'
import { expect, onTestFinished, test } from 'vitest'
import { makeQueue } from '../support/queue.js'

const work = defineType({ type: 'work', run() {} })

async function startOn(url: string) {
  const lines: string[] = []
  const holdfast = new Holdfast({ connectionString: url })
  const logger = { info() {}, error() {}, warn: (_: object, message: string) => void lines.push(message) }
  const worker = await startWorker(holdfast, [work], { logger })
  onTestFinished(async () => {
    await worker.stop()
    await holdfast.close()
  })
  return { worker, lines }
}

test('a worker on a server that may lose what it acknowledges says so once in its log, and in its health', async () => {
  const queue = await makeQueue()
  await queue.sql(`do $$ begin execute 'alter database ' || current_database() || ' set synchronous_commit = off'; end $$`)
  const { worker, lines } = await startOn(queue.url)
  const warning = /^synchronous_commit is off: a crash of PostgreSQL loses jobs/
  expect(lines.filter((line) => warning.test(line))).toHaveLength(1)
  expect(worker.health().warnings).toContainEqual(expect.stringMatching(warning))
  expect(worker.health().status).toBe('ok')
})

test('where commits are waited for, nothing is said about them', async () => {
  const queue = await makeQueue()
  const { worker, lines } = await startOn(queue.url)
  expect(lines.filter((line) => line.startsWith('synchronous_commit'))).toEqual([])
  expect((worker.health().warnings ?? []).filter((line) => line.startsWith('synchronous_commit'))).toEqual([])
})
