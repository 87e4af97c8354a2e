import { refused } from './refused.js'

/** The name of a build, such as a commit or 2.4.1; null where none was given. */
export function readBuild(build: string | undefined): string | null {
  if (build === undefined) return null
  if (typeof build === 'string' && /^[\w.:+@/-]{1,100}$/.test(build)) return build
  throw refused('build', 'must have 1 to 100 letters, digits and . : + @ / _ -, such as a commit or 2.4.1')
}
