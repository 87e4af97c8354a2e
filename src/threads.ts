// As a whole, because bundles of ES modules are often given a line on top that declares `createRequire`.
import nodeModule from 'node:module'
import { pathToFileURL } from 'node:url'
import { codeFiles, fileBesideCode } from './code-files.js'
import { HoldfastError } from './errors.js'
import { version } from './version.js'

/** What runs in a thread or process of its own; holdfast-threads.ts has the file behind each. */
export type ThreadProgram = `holdfast:${'heartbeat' | 'check_module' | 'watch' | 'supervisor' | 'host_thread' | 'host_process'}`

const names = ['holdfast-threads.js', 'holdfast-threads.mjs', 'holdfast-threads.cjs']

let found: URL | undefined

/**
 * The file that every thread and process of ours starts from, told by its first argument what to run. It stands beside this one; in a
 * bundle beside the bundle, if it was built as an entry of its own; or else in the package, where that is installed.
 */
export function threadsFile(): URL {
  found ??= names.map(fileBesideCode).find((file) => file !== undefined) ?? inThePackage()
  return found
}

function inThePackage(): URL {
  let otherVersion = ''
  for (const file of codeFiles) {
    const require = nodeModule.createRequire(file)
    try {
      const manifest = require('holdfast/package.json') as { version: string }
      if (manifest.version === version) return pathToFileURL(require.resolve('holdfast/threads'))
      otherVersion = ` The holdfast that is installed there is ${manifest.version}, and this program was built with ${version}.`
    } catch {
      // Not installed there. What to do about it is said below.
    }
  }
  throw new HoldfastError(
    'threads_missing',
    `this program was bundled without the file that the threads and processes of a worker start from, and a worker needs one for its heartbeat.${otherVersion} Either
  - build a second entry, a file holdfast-threads.js that says: import 'holdfast/threads', and put what comes out beside the bundle, as ${names.join(' or ')}, or
  - leave holdfast out of the bundle (external: ['holdfast']) and install it where the program runs.
It was looked for beside ${codeFiles.join(' and ')}, one folder above, and in node_modules from there.`,
  )
}
