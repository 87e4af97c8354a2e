// What npm runs after it has packed: README.md as it stands in the repository, and the build that was there before.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { putBuildBack } from './kept-build.mjs'
import { linksForRepository } from './readme-links.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const manifest = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
writeFileSync(`${root}README.md`, linksForRepository(readFileSync(`${root}README.md`, 'utf8'), manifest))
putBuildBack()
