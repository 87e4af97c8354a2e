// Checks the types of the package with its tests, and those of the dashboard, which are another kind of program: it runs in a browser.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const compiler = `${root}node_modules/typescript/bin/tsc`
const failed = ['tsconfig.test.json', 'dashboard'].filter(
  (project) => spawnSync(process.execPath, [compiler, '-p', `${root}${project}`], { stdio: 'inherit' }).status !== 0,
)
process.exitCode = failed.length === 0 ? 0 : 1
