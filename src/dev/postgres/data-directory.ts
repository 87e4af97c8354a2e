import { randomBytes } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import { lchown, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { HoldfastError } from '../../errors.js'
import { type Binaries, program } from './binaries.js'
import { isAlive } from './postmaster.js'
import { type Identity, runProgram } from './programs.js'
import { nameFor, reachableBase } from './reachable.js'
import { canEnter } from './unprivileged.js'

export const superuser = 'postgres'
const passwordFile = 'holdfast.password'

/** Makes the directory for the cluster and returns its real path: where it was asked for or, if Postgres cannot enter there, elsewhere. */
export async function placeData(
  dataDir: string,
  identity: Identity | undefined,
  notice: (line: string) => void,
): Promise<string> {
  const asked = resolve(dataDir)
  const made = await mkdir(asked, { recursive: true })
  const directory = realpathSync(asked)
  if (!identity) return directory
  if (made) await lchown(directory, identity.uid, identity.gid)
  if (await canEnter(directory, identity)) return directory
  const holds = await readdir(directory)
  // A new directory from mkdtemp belongs to root only; it is treated like one we made.
  if (holds.length === 0 && (await canEnter(dirname(directory), identity))) {
    await lchown(directory, identity.uid, identity.gid)
    return directory
  }
  // Another starter may have handed it over since we were turned away. It does so before it puts anything there, so this answer holds;
  // without it the two would make a database each, one of them elsewhere.
  if (await canEnter(directory, identity)) return directory
  const cluster = holds.find((name) => existsSync(join(directory, name, 'PG_VERSION')))
  if (cluster) {
    throw new HoldfastError(
      'database_unavailable',
      `the database in ${join(directory, cluster)} belongs to user ${identity.name}, who may no longer enter that directory: allow it (chmod o+x on each directory above), or move it.`,
    )
  }
  const elsewhere = join(await reachableBase(), nameFor('data', directory))
  if (await mkdir(elsewhere, { recursive: true })) await lchown(elsewhere, identity.uid, identity.gid)
  notice(`Postgres runs as user ${identity.name}, who cannot enter ${directory}; the database is kept in ${elsewhere} instead`)
  return elsewhere
}

/** True when there is a cluster. One that we may not read is an error: making another in its place would hide it. */
export async function isInitialised(clusterDir: string): Promise<boolean> {
  try {
    await stat(join(clusterDir, 'PG_VERSION'))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') return false
    throw new HoldfastError(
      'database_unavailable',
      `${clusterDir} belongs to another user: start Holdfast as that user or as root, or choose another data directory.`,
      { cause: error },
    )
  }
}

/**
 * Makes the cluster in a temporary directory and renames it, so that there is a complete one or none, whenever a process dies. Two
 * processes that do this at once need no lock: the second rename finds the name taken, and its cluster is deleted.
 */
export async function initialise(clusterDir: string, binaries: Binaries, identity: Identity | undefined): Promise<void> {
  await removeLeftovers(dirname(clusterDir))
  const stage = `${clusterDir}.init-${process.pid}-${randomBytes(4).toString('hex')}`
  const data = join(stage, 'data')
  const password = join(stage, 'password')
  try {
    await mkdir(stage, { mode: 0o700 })
    await mkdir(data, { mode: 0o700 })
    await writeFile(password, randomBytes(24).toString('base64url'), { mode: 0o600, flag: 'wx' })
    // The outer directory last: until then no other user can replace what is inside.
    if (identity) for (const path of [password, data, stage]) await lchown(path, identity.uid, identity.gid)
    const made = await runProgram(program(binaries, 'initdb'), initdbFlags(binaries.major, data, password), identity)
    if (!made.ok) throw new HoldfastError('database_unavailable', `initdb could not make ${clusterDir}:\n${made.complaint}`)
    await rename(password, join(data, passwordFile))
    await rename(data, clusterDir)
  } catch (error) {
    if (await isInitialised(clusterDir)) return
    throw error
  } finally {
    await rm(stage, { recursive: true, force: true, maxRetries: 5 })
  }
}

export async function readPassword(clusterDir: string): Promise<string> {
  return readFile(join(clusterDir, passwordFile), 'utf8').catch((cause) => {
    const text = `${clusterDir} was not made by Holdfast: it has no ${passwordFile}. Set DATABASE_URL to use that database, or choose another data directory.`
    throw new HoldfastError('database_unavailable', text, { cause })
  })
}

function initdbFlags(major: number, data: string, password: string): string[] {
  const access = ['-D', data, '-U', superuser, '--auth=scram-sha-256', `--pwfile=${password}`]
  // The built-in locale sorts alike on every machine and knows all of Unicode; before 17 there is only the operating system's.
  const builtin = major >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : []
  return [...access, ...builtin, '--locale=C', '-E', 'UTF8', '--no-sync', '--no-instructions']
}

/** Removes what processes left that died while they made a cluster; the name has their process id. */
async function removeLeftovers(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const pid = /^pg\d+\.init-(\d+)-/.exec(name)?.[1]
    // An initdb whose parent died may still write there; then the next start removes the rest.
    if (pid && !isAlive(Number(pid)))
      await rm(join(directory, name), { recursive: true, force: true, maxRetries: 5 }).catch(() => {})
  }
}
