// The code of another commit, built beside the working tree's, for as long as it is compared with.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { forgetDirectory, guardDirectory } from './processes.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()

/** The short name of a commit; throws where there is none. */
export const nameOf = (commit) => git('rev-parse', '--short', '--verify', `${commit}^{commit}`)

/**
 * Checks a commit out into a temporary worktree and builds it there. `program` is this bench's own program beside that
 * build: what is measured differs, how does not. The packages are those of the working tree, not those of that time.
 */
export function buildEarlier(commit) {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-compare-'))
  guardDirectory(directory)
  const tree = join(directory, 'tree')
  const remove = () => {
    // By Git, which remembers a worktree until it is told. After a SIGKILL only the directory goes: `git worktree prune`.
    if (existsSync(tree)) git('worktree', 'remove', '--force', tree)
    rmSync(directory, { recursive: true, force: true })
    forgetDirectory(directory)
  }
  // Ctrl-C too ends by way of this.
  process.once('exit', remove)
  try {
    git('worktree', 'add', '--detach', tree, commit)
    symlinkSync(realpathSync(`${root}node_modules`), join(tree, 'node_modules'))
    execFileSync(process.execPath, [join(tree, 'tools', 'build.mjs')], { stdio: ['ignore', 'inherit', 'inherit'] })
    for (const part of ['program.mjs', 'systems']) {
      cpSync(new URL(part, import.meta.url), join(tree, 'bench', part), { recursive: true })
    }
    return { program: join(tree, 'bench', 'program.mjs'), remove }
  } catch (error) {
    remove()
    throw error
  }
}
