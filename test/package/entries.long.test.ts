import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
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
async function loadedBy([file, ...args]: string[]): Promise<{ packages: string[]; own: string[] }> {
  const list = join(scratch, `${(file as string).replaceAll(/\W/g, '-')}`)
  const program = join(root, 'test', 'support', 'loaded-program.mjs')
  await promisify(execFile)(process.execPath, [program, pathToFileURL(join(root, file as string)).href, ...args], {
    env: { ...process.env, HOLDFAST_LOADED_FILE: list },
  })
  const files = readFileSync(list, 'utf8').split('\n')
  const packages = files.flatMap((path) => /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [])
  return {
    packages: [...new Set(packages)].filter((name) => name in { ...manifest.dependencies, ...manifest.peerDependencies }).sort(),
    own: files.flatMap((path) => /\/dist\/(.*)$/.exec(path)?.[1] ?? []),
  }
}

describe('what an entry of the package loads', () => {
  it('is on the page about installing, for every entry', () => {
    expect([...documented().keys()]).toEqual([...entries.keys()])
  })

  it.each([...entries])('is what that page says: %s', async (entry, command) => {
    const { packages, own } = await loadedBy(command)
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
