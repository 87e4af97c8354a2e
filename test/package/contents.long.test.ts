import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Checkout, type Packed, pack, repository, unbuiltCheckout, unpack } from '../support/packed.js'

const run = promisify(execFile)
const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'))
const readme = readFileSync(join(repository, 'README.md'), 'utf8')
let checkout: Checkout
let packed: Packed

beforeAll(async () => {
  checkout = await unbuiltCheckout()
  packed = await pack(checkout)
}, 300_000)

afterAll(() => checkout.remove())

describe('a package that was packed in a checkout where nothing was built', () => {
  it('has every file that package.json names', () => {
    const entries = Object.values<string | { types: string; default: string }>(manifest.exports)
    const named = [...entries.flatMap((entry) => (typeof entry === 'string' ? [entry] : [entry.types, entry.default]))]
    const expected = [...named, ...Object.values<string>(manifest.bin)].map((path) => path.replace('./', ''))
    expect(packed.paths).toEqual(expect.arrayContaining(expected))
  })

  it('has what is built of src, the page and the licence, and nothing else', () => {
    const others = packed.paths.filter((path) => !path.startsWith('dist/'))
    expect(others.sort()).toEqual(['LICENSE', 'README.md', 'package.json'])
    expect(packed.paths.filter((path) => /\.test\.|\.map$|\.sql$|\/\./.test(path))).toEqual([])
    const extensions = new Set(packed.paths.map((path) => path.split('.').slice(1).join('.')).filter(Boolean))
    expect([...extensions].sort()).toEqual(['css', 'd.ts', 'html', 'js', 'json', 'md', 'svg'])
  })

  it('has its modules in a few files, so that a program that starts reads a few', () => {
    const modules = packed.paths.filter((path) => path.endsWith('.js') && !path.startsWith('dist/dashboard/'))
    expect(modules.length).toBeLessThan(100)
  })

  it('has a README whose links lead to the files of this very release, and leaves the README of the checkout as it was', async () => {
    const read = await unpack(packed, checkout.directory)
    const links = [...(await read('README.md')).matchAll(/\]\(([^)]+)\)/g)].map(([, link]) => link as string)
    const release = `https://github.com/holdfast-jobs/holdfast/blob/v${manifest.version}/`
    const elsewhere = links.filter(
      (link) =>
        !link.startsWith(release) ||
        !existsSync(join(repository, link.slice(release.length).replace(/\.png\?raw=true$/, '.png'))),
    )
    expect(links.length).toBeGreaterThan(10)
    expect(elsewhere).toEqual([])
    expect(readFileSync(join(checkout.directory, 'README.md'), 'utf8')).toBe(readme)
  })

  it('leaves no build behind where there was none', () => {
    expect(existsSync(join(checkout.directory, 'dist'))).toBe(false)
  })

  it('is found good by publint', async () => {
    const { stdout } = await run(process.execPath, [program('publint', 'src/cli.js'), packed.file, '--strict'])
    expect(stdout).toContain('All good!')
  })

  it('has types that fit its modules, for everybody who imports them', async () => {
    const attw = program('@arethetypeswrong/cli', 'dist/index.js')
    const { stdout } = await run(process.execPath, [attw, packed.file, '--profile', 'esm-only', '--format', 'json'])
    const { analysis } = JSON.parse(stdout)
    // Programs in CommonJS require these modules from Node 20.19 on; docs/install.md says what TypeScript wants to be told.
    const ours = analysis.problems.filter(({ kind }: { kind: string }) => kind !== 'CJSResolvesToESM')
    expect(ours.filter(({ resolutionKind }: { resolutionKind: string }) => resolutionKind !== 'node10')).toEqual([])
  }, 300_000)
})

it('a checkout that cannot be built makes no package, and keeps the build that it had', async () => {
  const broken = await unbuiltCheckout()
  try {
    rmSync(join(broken.directory, 'tsconfig.json'))
    mkdirSync(join(broken.directory, 'dist'))
    writeFileSync(join(broken.directory, 'dist', 'index.js'), 'built before')
    await expect(pack(broken)).rejects.toThrow('tools/prepack.mjs')
    expect(readFileSync(join(broken.directory, 'dist', 'index.js'), 'utf8')).toBe('built before')
  } finally {
    await broken.remove()
  }
}, 120_000)

const program = (name: string, file: string) => join(repository, 'node_modules', name, file)
