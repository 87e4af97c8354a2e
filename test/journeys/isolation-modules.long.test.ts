import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { defineType, Holdfast, HoldfastError } from 'holdfast'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import { startWorker, type Worker, type WorkerOptions } from 'holdfast/worker'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

const quiet = { info() {}, warn() {}, error() {} }
const patient = { timeout: 60_000, interval: 100 }
const repository = fileURLToPath(new URL('../..', import.meta.url))

let scratch: ScratchDatabase
let holdfast: Holdfast
let directory: string
let worker: Worker | undefined

beforeEach(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  holdfast = new Holdfast({ connectionString: scratch.connectionString })
  directory = await mkdtemp(join(tmpdir(), 'holdfast-modules-'))
  await mkdir(join(directory, 'node_modules'))
  await symlink(repository, join(directory, 'node_modules', 'holdfast'))
})
afterEach(async () => {
  await worker?.stop()
  worker = undefined
  await holdfast.close()
  await scratch.drop()
  await rm(directory, { recursive: true })
})

async function file(name: string, text: string): Promise<string> {
  const path = join(directory, name)
  await writeFile(path, text)
  return path
}

const head = `import { defineType } from 'holdfast'\n`

async function refusal(source: Parameters<typeof startWorker>[1], options: WorkerOptions = {}): Promise<HoldfastError> {
  const error = await startWorker(holdfast, source, { logger: quiet, ...options }).then(
    (started) => {
      worker = started
      throw new Error('the worker started')
    },
    (thrown) => thrown,
  )
  expect(error).toBeInstanceOf(HoldfastError)
  return error
}

async function completes(type: string): Promise<void> {
  const { id } = await holdfast.enqueue(type, {})
  await vi.waitFor(async () => expect((await holdfast.job(id))?.status).toBe('completed'), patient)
}

describe('a worker that is given a file', { timeout: 90_000 }, () => {
  it('runs every type it exports: by name, as default, and in arrays', async () => {
    const path = await file(
      'handlers.mjs',
      `${head}export const one = defineType({ type: 'one', run() {} })
       export const notAType = { type: 'other', run() {} }
       export const more = [defineType({ type: 'two', isolation: 'thread', run() {} })]
       export default [one, defineType({ type: 'three', isolation: 'process', run() {} })]`,
    )
    worker = await startWorker(holdfast, path, { logger: quiet })
    for (const type of ['one', 'two', 'three']) await completes(type)
  })

  it('takes CommonJS too', async () => {
    const path = await file(
      'handlers.cjs',
      `const { defineType } = require('holdfast')
       module.exports = { one: defineType({ type: 'one', isolation: 'process', run() {} }) }`,
    )
    worker = await startWorker(holdfast, pathToFileURL(path), { logger: quiet })
    await completes('one')
  })

  it('refuses to start where the file cannot be loaded, and names it', async () => {
    const path = await file('broken.mjs', `throw new Error('no database password')`)
    const error = await refusal(path)
    expect(error.code).toBe('invalid_module')
    expect(error.message).toBe(`${path} cannot be loaded: Error: no database password`)
    const missing = await refusal(join(directory, 'missing.mjs'))
    expect(missing.message).toContain(join(directory, 'missing.mjs'))
    const syntax = await refusal(await file('syntax.mjs', 'export const = 1'))
    expect(syntax.message).toMatch(/syntax\.mjs cannot be loaded: SyntaxError/)
  })

  it('refuses to start where a type has two handlers or none, or the file has no types, and names the file', async () => {
    const twice = await file(
      'twice.mjs',
      `${head}export const a = defineType({ type: 'same', run() {} })\nexport const b = defineType({ type: 'same', run() {} })`,
    )
    expect(await refusal(twice)).toMatchObject({ code: 'duplicate_handler', message: `${twice} has two handlers for same` })
    const without = await file('without.mjs', `${head}export const a = defineType({ type: 'handlerless' })`)
    expect(await refusal(without)).toMatchObject({ code: 'missing_handler', message: expect.stringContaining(without) })
    const none = await file('none.mjs', 'export const a = 1')
    expect(await refusal(none)).toMatchObject({ code: 'missing_handler', message: expect.stringContaining(none) })
  })

  it('says what to install where nothing can read TypeScript', async () => {
    const path = await file('handlers.ts', 'export const typed: number = 1')
    const error = await refusal(path)
    // From 22.18 on Node reads it, and finds no handler there.
    if ((process.features as { typescript?: unknown }).typescript) return expect(error.code).toBe('missing_handler')
    expect(error).toMatchObject({ code: 'invalid_module', message: expect.stringContaining(`${path} is TypeScript`) })
    expect(error.message).toContain('npm install -D tsx')
  })

  it('takes TypeScript where the project has tsx or Node reads it', async () => {
    const path = await file(
      'handlers.ts',
      `${head}export const typed = defineType({ type: 'typed', isolation: 'thread', run(payload: unknown): void { void (payload as object) } })`,
    )
    await symlink(join(repository, 'node_modules', 'tsx'), join(directory, 'node_modules', 'tsx'))
    worker = await startWorker(holdfast, path, { logger: quiet })
    await completes('typed')
  })
})

describe('a worker that is given types', { timeout: 90_000 }, () => {
  const apart = defineType({ type: 'apart', isolation: 'thread', run() {} })

  it('needs the file of those that are isolated', async () => {
    const error = await refusal([apart])
    expect(error).toMatchObject({ code: 'invalid_configuration', field: 'module' })
    expect(error.message).toContain('apart')
  })

  it('runs isolated ones from that file', async () => {
    const module = await file('apart.mjs', `${head}export const apart = defineType({ type: 'apart', run() {} })`)
    worker = await startWorker(holdfast, [apart], { logger: quiet, module })
    await completes('apart')
  })

  it('records the attempt for which no thread could be started, as every attempt that failed', async () => {
    const module = await file('apart.mjs', `${head}export const apart = defineType({ type: 'apart', run() {} })`)
    worker = await startWorker(holdfast, [apart], { logger: quiet, module })
    await file('apart.mjs', `throw new Error('half of a deploy')`)
    const { id } = await holdfast.enqueue('apart', {})
    await vi.waitFor(async () => expect((await holdfast.job(id))?.status).toBe('failed'), patient)
    const [first] = (await holdfast.job(id))?.attempts ?? []
    const message = expect.stringMatching(/no thread for apart could be started: .*half of a deploy/)
    expect(first).toMatchObject({ attempt: 1, outcome: 'failed', error: { message } })
  })

  it('refuses a file that cannot be loaded, lacks the type, or starts a worker itself', async () => {
    const broken = await file('broken.mjs', `throw new Error('not here')`)
    expect(await refusal([apart], { module: broken })).toMatchObject({
      code: 'invalid_module',
      message: `${broken} cannot be loaded: Error: not here`,
    })
    const other = await file('other.mjs', `${head}export const other = defineType({ type: 'other', run() {} })`)
    expect((await refusal([apart], { module: other })).message).toMatch(/other\.mjs does not export apart.*it exports other/)
    const itself = await file(
      'itself.mjs',
      `${head}import { Holdfast } from 'holdfast'\nimport { startWorker } from 'holdfast/worker'
       export const apart = defineType({ type: 'apart', run() {} })
       await startWorker(new Holdfast({ connectionString: '${scratch.connectionString}' }), [apart])`,
    )
    expect((await refusal([apart], { module: itself })).message).toMatch(/must not start a worker when it is imported/)
  })

  it('refuses isolation options that mean nothing, when the type is defined', () => {
    expect(() => defineType({ type: 't', isolation: 'fiber' as 'thread' })).toThrow(/inline, thread or process/)
    expect(() => defineType({ type: 't', memory: 64 })).toThrow(/memory of t has no meaning inline/)
    expect(() => defineType({ type: 't', isolation: 'thread', memory: 1 })).toThrow(/memory of t is 1; .* from 16/)
    expect(() => defineType({ type: 't', atOnce: 0 })).toThrow(/atOnce of t is 0/)
  })
})

describe('holdfast work', { timeout: 90_000 }, () => {
  async function run(...args: string[]) {
    const command = join(repository, 'dist', 'cli', 'main.js')
    const child = spawn(process.execPath, [command, 'work', ...args], { stdio: ['ignore', 'ignore', 'pipe'], cwd: directory })
    let said = ''
    child.stderr.on('data', (data) => {
      said += data
    })
    return { child, ended: once(child, 'exit'), said: () => said }
  }

  it('runs the types of a file until it is told to stop', async () => {
    await file('handlers.mjs', `${head}export const one = defineType({ type: 'one', isolation: 'process', run() {} })`)
    const { child, ended, said } = await run('./handlers.mjs', '--database-url', scratch.connectionString)
    await vi.waitFor(() => expect(said()).toContain('worker started'), patient)
    await completes('one')
    child.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
  })

  it('says what is wrong with the file and ends', async () => {
    await file('broken.mjs', `throw new Error('no database password')`)
    const { ended, said } = await run('./broken.mjs', '--database-url', scratch.connectionString)
    expect((await ended)[0]).toBe(1)
    expect(said()).toContain('broken.mjs cannot be loaded: Error: no database password')
  })
})
