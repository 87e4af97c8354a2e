import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { readBuild } from '../job/build.js'
import { misconfigured } from '../job/refused.js'

/**
 * Which code this worker runs, by the first that says so: the options, HOLDFAST_BUILD, the file of handlers. `git` stands for the commit that is
 * checked out where the process was started. Null: nobody said.
 */
export async function buildOf(given: string | null, exported: string | undefined): Promise<string | null> {
  const named = given ?? readBuild(process.env.HOLDFAST_BUILD || undefined) ?? readBuild(exported)
  return named === 'git' ? commit() : named
}

async function commit(): Promise<string> {
  try {
    return (await promisify(execFile)('git', ['rev-parse', '--short=12', 'HEAD'], { timeout: 5_000 })).stdout.trim()
  } catch (error) {
    const why = (error as Error).message.trim().split('\n').at(-1)
    throw misconfigured('build', `is git, and git names no commit in the working directory (${why}); name the build`)
  }
}
