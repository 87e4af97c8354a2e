// A bench that crashes or is killed must not leave its servers: a process that outlives it ends them.
import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'

/** The one of the test kit: when its input ends, it ends the servers in the directories it was told, and removes those. */
const program = fileURLToPath(new URL('../dist/testing/server-guard.js', import.meta.url))
let guard

/** @param {string} directory that holds the data directory of a server, or will */
export function watchOver(directory) {
  guard ??= start()
  guard.stdin.write(`${directory}\n`)
}

function start() {
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'ignore', 'ignore'], detached: true, cwd: tmpdir() })
  child.unref()
  child.stdin.unref()
  child.stdin.on('error', () => {})
  return child
}
