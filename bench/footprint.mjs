// What somebody gets who installs a package for production, with npm as it comes: its size and how many packages it is.
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { cp, mkdtemp, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { bundle } from '../tools/bundle.mjs'
import { forgetDirectory, guardDirectory } from './processes.mjs'

const run = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))

/** A directory that goes when its user is done with it. */
export async function inDirectory(work) {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-bench-install-'))
  guardDirectory(directory)
  try {
    return await work(directory)
  } finally {
    await rm(directory, { recursive: true, force: true })
    forgetDirectory(directory)
  }
}

/** Holdfast as it would be published. Packed from a copy: a release is built without what the bench's own build has. */
export async function packOwn(directory, limitMs) {
  const { stdout: listed } = await run('git', ['ls-files', '--', 'src', 'tools', 'dashboard', ':(glob)*'], { cwd: root })
  for (const file of listed.trim().split('\n')) await cp(join(root, file), join(directory, file))
  await symlink(await realpath(join(root, 'node_modules')), join(directory, 'node_modules'))
  const { stdout } = await npm(directory, limitMs, 'pack', '--json')
  return join(directory, JSON.parse(stdout)[0].filename)
}

/** The modules of Holdfast put together as in a package, in a folder that finds the packages of the repository. */
export async function releaseBuild() {
  const directory = await mkdtemp(join(root, '.bench-release-'))
  guardDirectory(directory)
  await cp(join(root, 'dist'), directory, {
    recursive: true,
    filter: (path) => !/\.(map|ts)$|dashboard/.test(path.slice(root.length)),
  })
  await bundle(directory)
  return {
    url: pathToFileURL(directory).href,
    async remove() {
      await rm(directory, { recursive: true, force: true })
      forgetDirectory(directory)
    },
  }
}

/** `{ megabytes, packages }` of a production install of these packages. The registry has to be within reach. */
export async function installed(directory, wanted, limitMs) {
  await writeFile(join(directory, 'package.json'), '{ "private": true }')
  const options = ['--omit=dev', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund']
  await npm(directory, limitMs, 'install', ...options, ...wanted)
  const modules = join(directory, 'node_modules')
  const packages = Object.keys(JSON.parse(readFileSync(join(modules, '.package-lock.json'), 'utf8')).packages).length
  return { megabytes: bytesUnder(modules) / 1e6, packages }
}

function bytesUnder(directory) {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)
}

function npm(cwd, limitMs, ...args) {
  // What the npm that runs the bench has put into the environment is not what a user has.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith('npm_')))
  return run('npm', args, { cwd, env, timeout: limitMs, maxBuffer: 100_000_000, shell: process.platform === 'win32' })
}
