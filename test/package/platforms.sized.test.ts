/** What can be checked of Windows and macOS on Linux. docs/platforms.md says what was run where. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { transformSync } from 'esbuild'
import { makeScratchDatabase } from 'holdfast/testing'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sized } from '../support/sized.js'
import { filesUnder, repository } from '../support/source.js'

const folders = ['src', 'tools', 'test', 'docs', 'examples', 'bench', 'chaos']
const tracked = folders.flatMap((folder) => filesUnder(join(repository, folder), '')).map((path) => relative(repository, path))
const read = (path: string) => readFileSync(join(repository, path), 'utf8')
const sources = tracked
  .filter((path) => /^(src|tools)\/.*\.(ts|mjs)$/.test(path) && !path.includes('.test.'))
  .map((path) => ({ path, text: read(path) }))

/** Where a pattern stands in the sources of the package and its tools, as `path: what was found`. */
const found = (pattern: RegExp) =>
  sources.flatMap(({ path, text }) => [...text.matchAll(pattern)].map(([what, part]) => `${path}: ${part ?? what}`))

function temporary(name: string): string {
  const directory = mkdtempSync(join(tmpdir(), name))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

describe('a clone on Windows or macOS', () => {
  test('has no two files whose names differ in case only, and no name that Windows refuses', () => {
    const places = new Set(tracked.flatMap((path) => path.split('/').map((_, at, parts) => parts.slice(0, at + 1).join('/'))))
    const lower = [...places].map((path) => path.toLowerCase())
    expect(lower.filter((path, at) => lower.indexOf(path) < at)).toEqual([])
    const refused = /[<>:"|?*\\]|[ .](\/|$)|(^|\/)(con|prn|aux|nul|com\d|lpt\d)(\.|\/|$)/i
    expect([...places].filter((path) => refused.test(path) || path.length > 180)).toEqual([])
  })

  test('has the same line ends as every other one', () => {
    expect(read('.gitattributes')).toContain('* text=auto eol=lf')
    expect(tracked.filter((path) => /\.(ts|mjs|js|sql|md|json|py|html|css)$/.test(path) && read(path).includes('\r\n'))).toEqual(
      [],
    )
  })

  test('reads SQL with the same checksums where its line ends are others after all', async () => {
    const folder = temporary('holdfast-crlf-')
    const reads = async (ends: '\n' | '\r\n') => {
      const place = join(folder, ends === '\n' ? 'lf' : 'crlf')
      mkdirSync(join(place, 'schema'), { recursive: true })
      const schema = join(repository, 'src/store/schema')
      for (const name of readdirSync(schema)) {
        writeFileSync(join(place, 'schema', name), readFileSync(join(schema, name), 'utf8').replaceAll('\n', ends))
      }
      const source = read('src/store/sql-files.ts')
      writeFileSync(join(place, 'sql-files.mjs'), transformSync(source, { loader: 'ts', format: 'esm' }).code)
      const { sqlFiles } = await import(/* @vite-ignore */ pathToFileURL(join(place, 'sql-files.mjs')).href)
      return [...sqlFiles('schema')].map(([name, text]) => [name, createHash('sha256').update(text).digest('hex')])
    }
    expect(await reads('\r\n')).toEqual(await reads('\n'))
  })

  test('has package scripts that need no particular shell', () => {
    const { scripts } = JSON.parse(read('package.json'))
    for (const script of Object.values(scripts)) expect(script).toMatch(/^(node|tsc|biome) [\w ./-]+$/)
  })
})

describe('the sources', () => {
  test('make paths of URLs, and URLs of paths, by the functions for that', () => {
    expect(found(/import\.meta\.url\)\.pathname|['"`]file:\/\//g)).toEqual([])
  })

  test('know no place that another system does not have, but where it is asked for', () => {
    const places = found(/['"`](\/(?:tmp|var|dev|proc|bin|etc|usr|opt|run)\b[^'"`$]*)/g).map((line) => line.split(': ')[0])
    expect([...new Set(places)]).toEqual([
      'src/dev/postgres/binaries.ts',
      'src/dev/postgres/postmaster.ts',
      'src/dev/postgres/reachable.ts',
      'src/dev/postgres/unprivileged.ts',
      'src/run/isolate/child.ts',
      'tools/screenshots.mjs',
    ])
  })

  test('send and hear only signals that Windows has, or ends a process for', () => {
    const used = found(/'(SIG[A-Z]+)'/g).filter((line) => !/^src\/run\/isolate\/(child|ending)\.ts/.test(line))
    expect(new Set(used.map((line) => line.split(': ')[1]))).toEqual(
      new Set(['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGKILL']),
    )
  })

  test('run npm through a shell on Windows, where it is a .cmd file, and open no window for what runs in the background', () => {
    const calls = sources.flatMap(({ path, text }) =>
      [...text.matchAll(/\b(?:spawn|spawnSync|execFileSync)\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)/g)].map(
        ([, args = '']) => ({ path, args }),
      ),
    )
    expect(calls.length).toBeGreaterThan(8)
    const npm = calls.filter(({ args }) => /^'npm'|^file|^program/.test(args) && !/surroundings/.test(args))
    expect(npm.length).toBeGreaterThan(2)
    expect(npm.filter(({ args }) => !/\bshell\b/.test(args)).map(({ path }) => path)).toEqual([])
    const visible = calls.filter(({ path, args }) => path.startsWith('src/') && !/windowsHide|'ps'|'inherit',?\s*\}/.test(args))
    expect(visible.map(({ path }) => path)).toEqual([])
  })

  test('listen on addresses and never on Unix sockets', () => {
    expect(found(/\.(?:listen|connect)\(\s*(?:['"`]|\{[^}]*\bpath\b)[^)]*/g)).toEqual([])
  })
})

/** Everything that is found by its path: threads, processes, handlers and the command line. */
const program = `
  import { Holdfast } from '../dist/index.js'
  import { startWorker } from '../dist/worker/index.js'
  const holdfast = new Holdfast({ connectionString: process.env.DATABASE_URL })
  const quiet = { info() {}, warn() {}, error() {} }
  const worker = await startWorker(holdfast, process.argv[2], { logger: quiet })
  for (const type of ['inline', 'thread', 'process']) {
    const job = await holdfast.enqueue(type, null)
    console.log(type, await holdfast.wait(job, { timeout: '50s' }))
  }
  await worker.stop()
  await holdfast.close()
`
const handlers = `
  import { defineType } from '../dist/index.js'
  export const types = ['inline', 'thread', 'process'].map((kind) =>
    defineType({ type: kind, isolation: kind, memory: kind === 'process' ? 256 : undefined, run: () => decodeURIComponent(import.meta.url).includes('p #1 %25 ü') }))
`

describe('a package whose path has spaces, #, % and letters that are not ASCII', () => {
  test.each(sized({ sample: ['told that it runs on Windows'], whole: ['as it is', 'told that it runs on Windows'] }))(
    'runs handlers inline, in threads and in processes, %s',
    async (told) => {
      const scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
      onTestFinished(() => scratch.drop())
      const root = join(temporary('holdfast-path-'), 'my app #1 %25 ü')
      mkdirSync(join(root, 'my jobs'), { recursive: true })
      cpSync(join(repository, 'dist'), join(root, 'dist'), { recursive: true })
      cpSync(join(repository, 'package.json'), join(root, 'package.json'))
      symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'), 'junction')
      writeFileSync(join(root, 'my jobs', 'program.mjs'), program)
      writeFileSync(join(root, 'my jobs', 'the handlers.mjs'), handlers)
      const pretend = "data:text/javascript,Object.defineProperty(process,'platform',{value:'win32'})"
      const flags = told === 'as it is' ? [] : ['--import', pretend]
      const args = [...flags, join('my jobs', 'program.mjs'), join('.', 'my jobs', 'the handlers.mjs')]
      const env = { ...process.env, DATABASE_URL: scratch.connectionString }
      const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, env, timeout: 100_000 })
      expect(stdout).toBe('inline true\nthread true\nprocess true\n')
    },
    120_000,
  )
})
