// The peers, and the Node that all systems run on, are installed on first use: nobody else has to have them.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { installIfMissing } from '../tools/install.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))
const installed = `${here}node_modules/node/bin/node${process.platform === 'win32' ? '.exe' : ''}`

export function installPeers() {
  installIfMissing(here)
  const [major, minor] = nodeVersion().split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 12)) return
  console.error(`pg-boss needs Node 22.12; this is ${nodeVersion()}, and npm was not allowed to install another into bench/`)
  process.exit(1)
}

/**
 * Newer peers need a newer Node than Holdfast does; so that the runtime is the same for all, this one runs everything. Where npm
 * is forbidden to run the scripts of packages it is not there, and the one that runs the bench has to do.
 */
export function benchNode() {
  return existsSync(installed) ? installed : process.execPath
}

export function nodeVersion() {
  return execFileSync(benchNode(), ['--version'], { encoding: 'utf8' }).trim().slice(1)
}

export function versionOf(name) {
  return JSON.parse(readFileSync(`${here}node_modules/${name}/package.json`, 'utf8')).version
}
