// Which sources a report was made on: the hash that git has, or would have, for the folder src as it stands in the work tree.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Undefined where there is no repository, as in an unpacked package. What git ignores does not count. */
export function sourceTree(root) {
  const scratch = mkdtempSync(join(tmpdir(), 'holdfast-tree-'))
  const env = { ...process.env, GIT_INDEX_FILE: join(scratch, 'index') }
  const git = (...args) => spawnSync('git', args, { cwd: root, env, encoding: 'utf8' })
  try {
    if (git('add', '--all', 'src').status !== 0) return undefined
    const { status, stdout } = git('write-tree', '--prefix=src/')
    return status === 0 ? stdout.trim() : undefined
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** The sources that dist was built from, as tools/build.mjs noted them; undefined where it noted none. */
export function builtTree(root) {
  const file = join(root, 'dist/.sources')
  return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined
}
