// Compiles src to dist. SQL and the version become part of the modules that read them in the sources, so that a bundle needs no file
// beside it. The dashboard is built where its packages are installed; a release needs them. With --release it makes no source maps, which
// would lead to sources that a package does not have, and puts the modules together into a few files (bundle.mjs).
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { sourceTree } from './source-tree.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
rmSync(`${root}dist`, { recursive: true, force: true })
const release = process.argv.includes('--release')
const options = release ? ['--sourceMap', 'false'] : []
const compiler = [`${root}node_modules/typescript/bin/tsc`, '-p', `${root}tsconfig.json`, ...options]
const compiled = spawnSync(process.execPath, compiler, { stdio: 'inherit' })
if (compiled.status !== 0) process.exit(compiled.status ?? 1)
await inlineSql()
inlineVersion()
if (release) await (await import('./bundle.mjs')).bundle(`${root}dist`)
else noteSources()
await buildDashboard()
// npm does this when it installs a package; in the repository itself `npx holdfast` needs it too.
chmodSync(`${root}dist/cli/main.js`, 0o755)

/**
 * What only migrations need stands in a module of its own, as one line of JSON: the tests that play another version of the package rewrite it.
 */
async function inlineSql() {
  const [module, queryModule] = ['sql-files', 'query-files'].map((name) => `${root}dist/store/${name}.js`)
  const folders = ['schema', 'functions', 'queries']
  for (const folder of folders) cpSync(`${root}src/store/${folder}`, `${root}dist/store/${folder}`, { recursive: true })
  const { sqlFiles } = await import(pathToFileURL(module).href)
  const { newestSchemaFile } = await import(pathToFileURL(queryModule).href)
  const newest = newestSchemaFile()
  const { queries, ...files } = Object.fromEntries(folders.map((folder) => [folder, Object.fromEntries(sqlFiles(folder))]))
  for (const folder of folders) rmSync(`${root}dist/store/${folder}`, { recursive: true })
  writeFileSync(
    module,
    `const files = ${JSON.stringify(files)}\nexport const sqlFiles = (folder) => new Map(Object.entries(files[folder]))\n`,
  )
  writeFileSync(
    queryModule,
    `const queries = ${JSON.stringify(queries)}\nexport const queryFiles = () => new Map(Object.entries(queries))\nexport const newestSchemaFile = () => ${newest}\n`,
  )
}

async function buildDashboard() {
  const dashboard = createRequire(`${root}dashboard/package.json`)
  try {
    for (const needed of ['vite', 'react']) dashboard.resolve(needed)
  } catch {
    console.error('The packages of the dashboard are not installed: this build has none. npm ci installs them.')
    if (release) process.exit(1)
    return
  }
  const { build } = await import(pathToFileURL(dashboard.resolve('vite')).href)
  await build({ root: `${root}dashboard`, logLevel: 'warn' })
}

/** So that a report cannot name sources that were changed after the build it ran on. */
function noteSources() {
  writeFileSync(`${root}dist/.sources`, `${sourceTree(root) ?? ''}\n`)
}

function inlineVersion() {
  const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8'))
  writeFileSync(`${root}dist/version.js`, `export const version = ${JSON.stringify(version)}\n`)
}
