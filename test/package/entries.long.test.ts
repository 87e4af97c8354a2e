import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundle } from '../../tools/bundle.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const program = join(root, 'test', 'support', 'loaded-program.mjs')
const scratch = mkdtempSync(join(tmpdir(), 'holdfast-loaded-'))
afterAll(() => rmSync(scratch, { recursive: true }))

/** Each entry of package.json as its users write it, with the file behind it; and the command line. */
const entries = new Map<string, string[]>([
  ...Object.entries<{ default: string }>(manifest.exports)
    .filter(([name]) => name !== './package.json')
    .map(([name, { default: file }]): [string, string[]] => [name.replace('.', 'holdfast'), [file]]),
  ['holdfast --help', [manifest.bin.holdfast, '--help']],
])

/** The rows of the table in docs/install.md: for each entry the packages it is said to load. */
function documented(): Map<string, string[]> {
  const page = readFileSync(join(root, 'docs', 'install.md'), 'utf8')
  const rows = [...page.matchAll(/^\| `(holdfast[^`]*)` \|[^|]*\|([^|]*)\|$/gm)]
  return new Map(
    rows.map(([, entry, packages]) => [entry as string, [...(packages as string).matchAll(/`([^`]+)`/g)].map(quoted)]),
  )
}

const quoted = ([, text]: RegExpMatchArray) => text as string

/** What a fresh process has loaded once it has imported the built entry. */
async function loadedBy([file, ...args]: string[], within: string): Promise<{ packages: string[]; own: string[] }> {
  const list = join(mkdtempSync(join(scratch, 'list-')), 'files')
  await promisify(execFile)(process.execPath, [program, pathToFileURL(join(within, file as string)).href, ...args], {
    env: { ...process.env, HOLDFAST_LOADED_FILE: list },
  })
  const files = readFileSync(list, 'utf8').split('\n')
  const packages = files.flatMap((path) => /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [])
  return {
    packages: [...new Set(packages)].filter((name) => name in { ...manifest.dependencies, ...manifest.peerDependencies }).sort(),
    own: files.flatMap((path) => /^(?!.*\/node_modules\/).*\/dist\/(.*)$/.exec(path)?.[1] ?? []),
  }
}

describe('what an entry of the package loads', () => {
  it('is on the page about installing, for every entry', () => {
    expect([...documented().keys()]).toEqual([...entries.keys()])
  })

  it.each([...entries])('is what that page says: %s', async (entry, command) => {
    const { packages, own } = await loadedBy(command, root)
    expect(own.length).toBeGreaterThan(0)
    expect(packages).toEqual(documented().get(entry))
    const has = (file: string) => own.includes(file)
    const runsJobs = own.some((file) => file.startsWith('run/'))
    expect({ runsJobs, serves: has('server/app.js'), makesSchemas: has('store/sql-files.js') }).toEqual({
      runsJobs: ['holdfast/worker', 'holdfast/remote-worker', 'holdfast/testing'].includes(entry),
      serves: entry === 'holdfast/server',
      makesSchemas: entry === 'holdfast/testing',
    })
  })
})

describe('what an entry loads where its modules are put together, as in a release', () => {
  const release = join(scratch, 'release')

  beforeAll(async () => {
    cpSync(join(root, 'dist'), join(release, 'dist'), { recursive: true })
    cpSync(join(root, 'package.json'), join(release, 'package.json'))
    symlinkSync(join(root, 'node_modules'), join(release, 'node_modules'), 'junction')
    await bundle(join(release, 'dist'))
  }, 120_000)

  it.each([...entries])('is no package for the sake of another entry: %s', async (entry, command) => {
    const { packages } = await loadedBy(command, release)
    expect(packages).toEqual(documented().get(entry))
  })

  it('is a few files, since a program that starts waits for each of them', async () => {
    const files = async (file: string) => (await loadedBy([file], release)).own.length
    expect(await files('dist/index.js')).toBeLessThanOrEqual(20)
    expect(await files('dist/worker/index.js')).toBeLessThanOrEqual(25)
    expect(await files('dist/client/index.js')).toBeLessThanOrEqual(10)
  })
})
