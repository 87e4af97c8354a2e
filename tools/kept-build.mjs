// What npm packs is built in dist, which also has the build that tests, bench and fault bench work with. That one waits beside it.
import { existsSync, renameSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const [dist, kept] = ['dist', '.dist-kept'].map((name) => fileURLToPath(new URL(`../${name}`, import.meta.url)))

/** A build that waits there already is from a pack that was interrupted: what stands in dist now was made to be packed. */
export function putBuildAside() {
  if (existsSync(dist) && !existsSync(kept)) renameSync(dist, kept)
}

/** Where nothing was built before, nothing is left. */
export function putBuildBack() {
  rmSync(dist, { recursive: true, force: true })
  if (existsSync(kept)) renameSync(kept, dist)
}
