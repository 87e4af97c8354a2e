/** The workers of docs/how-to in other languages, as they stand: each does its jobs. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineType } from 'holdfast'
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest'
import { blocks, docsPage } from '../support/docs-page.js'
import { whenInstalled } from '../support/programs.js'
import { adminKey, type Serving, serve } from '../support/serving.js'

const makeThumbnail = defineType({ type: 'make_thumbnail' })

let serving: Serving
beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([makeThumbnail])
})
afterAll(() => serving.end())

/** Writes the example of that page into a file and runs it, until the test ends. */
async function doesItsJobs(program: string, args: readonly string[], file: string, example: string, signal: NodeJS.Signals) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-language-'))
  writeFileSync(join(folder, file), example)
  const env = { ...process.env, HOLDFAST_URL: serving.address, HOLDFAST_KEY: adminKey, GO111MODULE: 'off', GOFLAGS: '' }
  const child = spawn(program, [...args, join(folder, file)], { env, stdio: ['ignore', 'ignore', 'inherit'], detached: true })
  const ended = once(child, 'exit')
  onTestFinished(async () => {
    process.kill(-(child.pid as number), signal)
    await ended
    rmSync(folder, { recursive: true })
  })
  for (const name of ['one', 'two']) {
    const { id } = await serving.holdfast.enqueue(makeThumbnail, { image: `${name}.png` })
    expect(await serving.holdfast.wait(id, { timeout: '4m' })).toEqual({ file: `${name}.small.png` })
  }
}

whenInstalled(
  'python3',
  'the worker in Python of docs/how-to does its jobs',
  async (python) => {
    const [example = ''] = blocks(docsPage('how-to/python-worker.md'), 'python')
    await doesItsJobs(python, [], 'worker.py', example, 'SIGKILL')
  },
  300_000,
)

whenInstalled(
  'go',
  'the worker in Go of docs/how-to does its jobs, and ends in good order',
  async (go) => {
    const [example = ''] = blocks(docsPage('how-to/go-worker.md'), 'go')
    // The first time on a machine Go compiles its own library, too.
    await doesItsJobs(go, ['run'], 'worker.go', example, 'SIGTERM')
  },
  300_000,
)
