// What npm runs before it packs: a build, so that no package is made without one, and a README.md whose links work on npm. postpack.mjs
// takes both back.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { putBuildAside, putBuildBack } from './kept-build.mjs'
import { linksForNpm } from './readme-links.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
putBuildAside()
// On standard error: what npm prints itself may be read by a program (npm pack --json).
const built = spawnSync(process.execPath, [`${root}tools/build.mjs`, '--release'], {
  stdio: ['ignore', process.stderr.fd, 'inherit'],
})
if (built.status !== 0) {
  putBuildBack()
  process.exit(built.status ?? 1)
}
const manifest = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
writeFileSync(`${root}README.md`, linksForNpm(readFileSync(`${root}README.md`, 'utf8'), manifest))
