import { readFile, symlink } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'

/**
 * npm packages cannot hold symbolic links, so the package lists them in `native/pg-symlinks.json` and makes them in an install
 * script, which `--ignore-scripts` and newer npm versions do not run. Each link is made by one system call that either makes
 * it or finds it there, so two processes can do this at once. Throws when the directory cannot be written.
 */
export async function makeLibraryLinks(installRoot: string): Promise<void> {
  const list = await readFile(join(installRoot, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    // The list speaks of `native/lib/...`; a copy of the installation has another name.
    const link = join(installRoot, target.replace(/^native\//, ''))
    await symlink(relative(dirname(target), source), link).catch((error) => {
      if (error.code !== 'EEXIST') throw error
    })
  }
}
