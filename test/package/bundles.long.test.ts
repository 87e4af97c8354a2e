import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { cp, mkdir, mkdtemp, realpath, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Holdfast } from 'holdfast'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { bundle } from '../../tools/bundle.mjs'
import { bundlers } from '../support/bundlers.mjs'
import { onDatabase } from '../support/empty-database.js'
import { eventually } from '../support/facts.js'
import { repository } from '../support/packed.js'

const run = promisify(execFile)
/** The sample is the one that is quickest and finds the least to go by. */
const tried = Object.keys(bundlers)
let project: string
let scratch: ScratchDatabase

/** A project that has holdfast installed as a release has it, with a producer, a worker and handlers of every isolation. */
beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'holdfast-project-'))
  await cp(join(repository, 'test', 'support', 'bundled'), project, { recursive: true })
  await mkdir(join(project, 'node_modules'))
  await mkdir(installed())
  for (const name of ['dist', 'package.json']) await cp(join(repository, name), join(installed(), name), { recursive: true })
  await bundle(join(installed(), 'dist'))
  for (const name of ['croner', 'fastify', 'pg']) {
    await symlink(await realpath(join(repository, 'node_modules', name)), join(project, 'node_modules', name))
  }
})

const installed = () => join(project, 'node_modules', 'holdfast')

/** What is bundled must not need the files it was made of, also where a bundler has written their paths into it. */
async function withoutThePackage(test: () => Promise<void>): Promise<void> {
  await rename(installed(), `${installed()}-away`)
  await test().finally(() => rename(`${installed()}-away`, installed()))
}

afterAll(() => rm(project, { recursive: true, force: true }))

const made = new Map<string, Promise<string>>()

/** What a bundler makes of the programs, in a place of its own; each bundler works once. Returns the extension of the files. */
async function bundleBy(name: string, out: string): Promise<string> {
  const bundles = join(project, 'bundles', name.replaceAll(/\W+/g, '-'))
  const making = made.get(name) ?? bundlers[name]?.(project, bundles)
  if (!making) throw new Error(`there is no bundler ${name}`)
  made.set(name, making)
  const extension = await making
  await cp(bundles, out, { recursive: true })
  return extension
}

beforeEach(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  onTestFinished(() => scratch.drop())
})

/** A directory with nothing above it that a program could find holdfast or pg in. */
async function emptyPlace(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-bundled-'))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  return directory
}

const environment = (handlers: string) => ({
  ...{ PATH: process.env.PATH, DATABASE_URL: scratch.connectionString, HANDLERS: handlers },
  HOLDFAST_LOG_LEVEL: 'warn',
})

/** The ids of the jobs that the bundled producer has enqueued. */
async function produce(out: string, extension: string): Promise<string[]> {
  const { stdout } = await run(process.execPath, [join(out, `producer.${extension}`)], { cwd: out, env: environment('') })
  return JSON.parse(stdout)
}

function startBundledWorker(out: string, extension: string): { worker: ChildProcess; said: () => string } {
  const file = join(out, `worker.${extension}`)
  const worker = spawn(process.execPath, [file], { cwd: out, env: environment(join(out, `handlers.${extension}`)) })
  let said = ''
  for (const stream of [worker.stdout, worker.stderr]) {
    stream.on('data', (text) => {
      said += text
    })
  }
  onTestFinished(() => void worker.kill('SIGKILL'))
  return { worker, said: () => said }
}

/** Runs the bundled worker until it has completed those jobs, its heartbeat thread alive, and stops it in good order. */
async function workOff(ids: readonly string[], out: string, extension: string): Promise<void> {
  const { worker, said } = startBundledWorker(out, extension)
  const ended = once(worker, 'close')
  const holdfast = new Holdfast({ connectionString: scratch.connectionString })
  const statuses = async () => Promise.all(ids.map(async (id) => (await holdfast.job(id))?.status))
  try {
    await eventually(
      async () => {
        if (worker.exitCode !== null) throw new Error(`the worker ended with ${worker.exitCode}: ${said()}`)
        return (await statuses()).every((status) => status === 'completed')
      },
      { within: 60_000 },
    )
    // A heartbeat thread whose file is missing or broken is complained of.
    expect(said()).not.toContain('heartbeat')
    worker.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${JSON.stringify(await statuses())}\n${said()}`, { cause: error })
  } finally {
    await holdfast.close()
  }
}

describe('a producer and a worker with threads and processes', { timeout: 600_000 }, () => {
  it.each(tried)('run where nothing is installed, bundled by %s', async (name) => {
    const out = await emptyPlace()
    const extension = await bundleBy(name, out)
    await withoutThePackage(async () => {
      const ids = await produce(out, extension)
      expect(ids).toHaveLength(3)
      await workOff(ids, out, extension)
    })
  })
})

describe('a server with a client and a remote worker, and a test with the test kit', { timeout: 600_000 }, () => {
  it.each(tried)('run where nothing is installed, bundled by %s', async (name) => {
    const out = await emptyPlace()
    const extension = await bundleBy(name, out)
    const said = async (program: string, surroundings: object = {}) => {
      const env = { ...environment(join(out, `handlers.${extension}`)), ...surroundings }
      return (await run(process.execPath, [join(out, `${program}.${extension}`)], { cwd: out, env })).stdout.trim()
    }
    await withoutThePackage(async () => {
      expect(JSON.parse(await said('server'))).toEqual({
        ended: ['completed', 'completed'],
        page: expect.stringContaining('put node_modules/holdfast/dist/dashboard beside what was bundled'),
      })
      expect(await said('kit')).toBe('["completed"]')
      expect(await said('kit', { DATABASE_URL: '' })).toMatch(
        /^postgres_missing: .* name one in HOLDFAST_TEST_URL or DATABASE_URL/,
      )
    })
    await cp(join(installed(), 'dist', 'dashboard'), join(out, 'dashboard'), { recursive: true })
    expect(JSON.parse(await said('server'))).toMatchObject({ page: true })
  })
})

describe('a worker that was bundled alone', { timeout: 180_000 }, () => {
  const alone = async (out: string) => {
    const whole = await emptyPlace()
    const extension = await bundleBy('esbuild, CommonJS', whole)
    for (const name of readdirSync(whole)) if (!name.startsWith('holdfast-threads')) await cp(join(whole, name), join(out, name))
    return extension
  }

  it('says what is missing and what to do, and registers nothing', async () => {
    const out = await emptyPlace()
    const { worker, said } = startBundledWorker(out, await alone(out))
    expect(await once(worker, 'close')).toEqual([3, null])
    expect(said()).toMatch(/^threads_missing: this program was bundled without the file that the threads .* start from/)
    expect(said()).toContain("a file holdfast-threads.js that says: import 'holdfast/threads'")
    expect(said()).toContain("external: ['holdfast']")
    await onDatabase(scratch.connectionString, async (client) => {
      expect((await client.query('select from holdfast.workers')).rows).toEqual([])
    })
  })

  it('finds the file in the package where that is installed beside it, in the same version', async () => {
    const out = await emptyPlace()
    const extension = await alone(out)
    await mkdir(join(out, 'node_modules'))
    await symlink(installed(), join(out, 'node_modules', 'holdfast'))
    await workOff(await produce(out, extension), out, extension)
  })

  it('does not take the file of another version', async () => {
    const out = await emptyPlace()
    const other = join(out, 'node_modules', 'holdfast')
    await mkdir(other, { recursive: true })
    await writeFile(join(other, 'package.json'), JSON.stringify({ name: 'holdfast', version: '0.0.1' }))
    const { worker, said } = startBundledWorker(out, await alone(out))
    await once(worker, 'close')
    expect(said()).toContain('The holdfast that is installed there is 0.0.1, and this program was built with')
  })
})
