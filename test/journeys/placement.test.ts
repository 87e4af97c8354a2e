import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startWorker } from 'holdfast/worker'
import { expect, onTestFinished, test } from 'vitest'
import { makeQueue } from '../support/queue.js'
import { quiet } from '../support/serving.js'
import { repository } from '../support/source.js'

const handlers = `
import { defineType } from '${join(repository, 'dist/index.js')}'
export const small = defineType({ type: 'small', run: () => 'inline' })
export const large = defineType({ type: 'large', isolation: 'process', memory: 2048, run: () => 'in a process' })
`

test('a worker leaves a type that needs more memory than it has to one that has enough', async () => {
  const { holdfast } = await makeQueue()
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-placement-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const file = join(directory, 'handlers.mjs')
  await writeFile(file, handlers)
  const start = async (memory: number) => {
    const worker = await startWorker(holdfast, file, { memory, logger: quiet, poll: '10ms' })
    onTestFinished(() => worker.stop({ now: true }))
    return worker
  }
  const little = await start(1024)
  expect(little.health().warnings).toContainEqual(
    expect.stringContaining('large needs more memory than the 1024 MB of this worker'),
  )
  const { id } = await holdfast.enqueue('large', {})
  expect(await holdfast.wait(await holdfast.enqueue('small', {}))).toBe('inline')
  expect((await holdfast.explain(id))?.gates[0]).toMatchObject({ gate: 'no_worker' })
  await start(4096)
  expect(await holdfast.wait(id)).toBe('in a process')
})
