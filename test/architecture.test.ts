import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { promisify } from 'node:util'
import { errorTable } from 'holdfast'
import { makeScratchDatabase } from 'holdfast/testing'
import { describe, expect, test } from 'vitest'
import { allStatements } from '../src/store/queries.js'
import { onDatabase } from './support/empty-database.js'
import { filesUnder, repository, sourceFiles } from './support/source.js'

const files = sourceFiles()
const run = promisify(execFile)

/** From the ground up, as ARCHITECTURE.md shows them. A file may import from its own folder and from what stands above its line. */
const layers = architecture()

function architecture(): string[][] {
  const page = readFileSync(join(repository, 'ARCHITECTURE.md'), 'utf8')
  const [, graph = ''] = /## Who may touch what[\s\S]*?```\n([\s\S]*?)```/.exec(page) ?? []
  return graph
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
}

const folderOf = (path: string) => path.split('/')[0] as string
const layerOf = (path: string) => layers.findIndex((folders) => folders.includes(folderOf(path)))

describe('the import direction', () => {
  test('knows every folder, and none that is not there: one that is new gets its line in ARCHITECTURE.md', () => {
    const folders = [...new Set(files.map(({ path }) => folderOf(path)))]
    expect(layers.flat().sort()).toEqual(folders.sort())
  })

  test('goes down only', () => {
    const upward = files.flatMap(({ path, imports }) =>
      imports
        .filter((target) => folderOf(target) !== folderOf(path) && layerOf(target) >= layerOf(path))
        .map((target) => `${path} imports ${target}`),
    )
    expect(upward).toEqual([])
    // That the imports are seen at all.
    expect(files.find(({ path }) => path === 'worker/worker.ts')?.imports).toContain('claim/loop.ts')
    expect(files.find(({ path }) => path === 'holdfast-threads.ts')?.imports).toContain('claim/heartbeat-thread.ts')
  })
})

describe('what only one place may do', () => {
  const breaking = (pattern: RegExp, allowed: readonly string[]) =>
    files
      .filter(({ path }) => !allowed.some((place) => path === place || path.startsWith(place)))
      .flatMap(({ path, code }) => [...code.matchAll(pattern)].map((match) => `${path}: ${match[0]}`))

  test('only store/ has SQL', () => {
    const sql =
      /['"`](?:select\s|insert\s+into|update\s+\S+\s+set|delete\s+from|truncate\s|(?:create|alter|drop)\s+(?:or\s+replace\s+)?(?:table|database|schema|function|index|view|role)\s|(?:un)?listen\s|notify\s|begin\b|commit\b)/gi
    // Two that make databases and have no schema of ours to do with.
    // And the statement a newcomer is invited to try.
    const places = ['store/', 'testing/scratch-database.ts', 'dev/postgres/start.ts', 'cli/up/welcome.ts']
    expect(breaking(sql, places)).toEqual([])
  })

  test('only job/refused.ts refuses an option: HTTP spells the names of options in another way', () => {
    expect(breaking(/HoldfastError\(\s*'invalid_option'/g, ['job/refused.ts', 'store/sqlstate.ts', 'server/'])).toEqual([])
  })

  test('only clock.ts reads the clock', () => {
    expect(breaking(/Date\.now\b|performance\.now\b|new Date\(\)|process\.hrtime\b|timeOrigin\b/g, ['clock.ts'])).toEqual([])
  })

  test('only cli/ and the guard of the worker touch the process; others may look at it', () => {
    const looking = /^process\.(?:pid|platform|arch|versions?|execPath|getuid|memoryUsage)$/
    // What runs inside of a thread or process of its own is alone there.
    const places = ['cli/', 'worker/process-guard.ts', 'run/isolate/', 'holdfast-threads.ts']
    const uses = breaking(/(?<!messaging\.)\bprocess\.(?:env(?:\.\w+)?|\w+)|'node:process'/g, places)
    expect(uses.filter((use) => !looking.test(use.split(': ')[1] as string)).sort()).toEqual([
      'dev/postgres/binaries.ts: process.cwd',
      'dev/postgres/binaries.ts: process.env.HOLDFAST_POSTGRES_BIN',
      'dev/postgres/binaries.ts: process.env.PATH',
      // Signals to the Postgres it started, never to itself.
      'dev/postgres/postmaster.ts: process.kill',
      'dev/postgres/postmaster.ts: process.kill',
      'dev/postgres/programs.ts: process.env',
      'dev/postgres/reachable.ts: process.env.XDG_CACHE_HOME',
      'holdfast.ts: process.env',
      'members/holdfasts.ts: process.env',
      'remote-worker/start.ts: process.env',
      // A process of its own, which stops a test's Postgres when the test has gone.
      'testing/server-guard.ts: process.kill',
      'testing/server-guard.ts: process.kill',
      'testing/server-guard.ts: process.stdin',
      'testing/server.ts: process.env',
      'testing/server.ts: process.env.DATABASE_URL',
      'testing/server.ts: process.env.HOLDFAST_TEST_URL',
      'worker/build.ts: process.env.HOLDFAST_BUILD',
      'worker/logger.ts: process.env.HOLDFAST_LOG_LEVEL',
      'worker/logger.ts: process.stderr',
      'worker/start.ts: process.env',
    ])
  })
})

describe('named statements', () => {
  const used = new Set(files.flatMap(({ code }) => [...code.matchAll(/\bstatement\('(\w+)'\)/g)].map((match) => match[1])))

  test('are all used, and all that are used exist', () => {
    expect([...used].sort()).toEqual(
      allStatements()
        .map(({ name }) => name)
        .sort(),
    )
  })

  test('say above themselves what they promise', () => {
    for (const { name, text } of allStatements()) expect(text, name).toMatch(/^-- \w+\n-- [A-Z]/)
  })

  test('name only tables, columns and functions that exist', async () => {
    const scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
    try {
      await onDatabase(scratch.connectionString, async (client) => {
        for (const { name, text } of allStatements()) {
          // A block cannot be prepared.
          if (/^do /m.test(text)) continue
          await client.query(`prepare "${name}" as ${text}`).catch((error) => {
            throw new Error(`${name}: ${error.message}`)
          })
        }
      })
    } finally {
      await scratch.drop()
    }
  })
})

test('every error code is thrown somewhere', () => {
  const thrown = new Set(
    files.flatMap(({ code }) => [...code.matchAll(/\(\s*'([a-z]+(?:_[a-z]+)*)',/g)].map((match) => match[1])),
  )
  const untilThereIsAServer = files.some(({ path }) => path.startsWith('server/')) ? [] : ['not_found', 'unauthorized']
  expect(Object.keys(errorTable).filter((code) => !thrown.has(code))).toEqual(untilThereIsAServer)
})

test('a program that enqueues or runs jobs needs nothing installed but pg and croner, and over HTTP nothing at all', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-only-pg-'))
  const load = (file: string) =>
    run(process.execPath, ['--input-type=module', '-e', `await import('./dist/${file}')`], { cwd: directory })
  try {
    await writeFile(join(directory, 'package.json'), '{ "type": "module", "version": "0.0.0" }')
    await cp(join(repository, 'dist'), join(directory, 'dist'), { recursive: true })
    await mkdir(join(directory, 'node_modules'))
    for (const name of ['client', 'remote-worker']) await load(`${name}/index.js`)
    await expect(load('index.js')).rejects.toThrow(/Cannot find package '(pg|croner)'/)
    for (const name of ['pg', 'croner'])
      await symlink(join(repository, 'node_modules', name), join(directory, 'node_modules', name))
    await load('index.js')
    await load('worker/index.js')
    // The server needs more: that the way of asking can answer no.
    await expect(load('server/index.js')).rejects.toThrow("Cannot find package 'fastify'")
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}, 120_000)

test('no file is longer than 300 lines', async () => {
  const folders = ['src', 'tools', 'test', 'bench', 'chaos', 'dashboard', 'examples', 'deploy', 'model']
  const endings = ['.ts', '.tsx', '.mjs', '.sql', '.css', '.html', '.pml', '.py', '.yaml']
  const paths = folders.flatMap((name) => filesUnder(join(repository, name), ...endings))
  for (const name of folders) expect(paths.some((path) => path.startsWith(join(repository, name)))).toBe(true)
  const long = []
  for (const path of paths) {
    const lines = (await readFile(path, 'utf8')).split('\n').length - 1
    if (lines > 300) long.push(`${relative(repository, path)}: ${lines}`)
  }
  expect(long).toEqual([])
})

test('a test file that changes its process is one of those that vitest.config.ts gives a process of their own', async () => {
  const config = await readFile(join(repository, 'vitest.config.ts'), 'utf8')
  const [, list = ''] = /const alone = \[([\s\S]*?)\]/.exec(config) ?? []
  // Up to the star, where there is one.
  const alone = [...list.matchAll(/'([^'*]+)/g)].map(([, beginning]) => beginning as string)
  const isAlone = (path: string) => alone.some((beginning) => path.startsWith(beginning))
  const changes =
    /^\s*(delete )?process\.env(\.\w+)?( =|$)|vi\.(doMock|mock|stubEnv|stubGlobal)\(|startTracing\(|process\.(on|once|chdir)\(|setTypeParser\(|vi\.spyOn\((process|console)\b/m
  const paths = ['src', 'test', 'chaos'].flatMap((name) => filesUnder(join(repository, name), '.test.ts', '.test.mjs'))
  const found = paths.filter((path) => changes.test(readFileSync(path, 'utf8'))).map((path) => relative(repository, path))
  expect(found.filter(isAlone)).toContain('test/privacy/strict.test.ts')
  expect(found.filter((path) => !isAlone(path) && !path.endsWith('architecture.test.ts'))).toEqual([])
})
