// The peers, and the Node that all systems run on, are installed on first use: nobody else has to have them.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { installIfMissing } from '../tools/install.mjs'

const here = fileURLToPath(new URL('.', import.meta.url))

/** Newer peers need a newer Node than Holdfast does; so that the runtime is the same for all, this one runs everything. */
export const benchNode = `${here}node_modules/node/bin/node${process.platform === 'win32' ? '.exe' : ''}`

export function installPeers() {
  installIfMissing(here)
}

export function versionOf(name) {
  return JSON.parse(readFileSync(`${here}node_modules/${name}/package.json`, 'utf8')).version
}
