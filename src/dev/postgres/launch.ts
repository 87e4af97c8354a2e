import { spawn } from 'node:child_process'
import { closeSync, constants, fchownSync, fstatSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { HoldfastError } from '../../errors.js'
import { type Binaries, program } from './binaries.js'
import { choosePort, host } from './port.js'
import { discardStalePostmasterFile, isPostmasterOf, readPostmasterFile } from './postmaster.js'
import { type Identity, surroundings } from './programs.js'
import { waitFor } from './wait.js'

export interface Cluster {
  directory: string
  log: string
  binaries: Binaries
  identity: Identity | undefined
  settings: Record<string, string>
}

export interface Server {
  pid: number
  port: number
  adopted: boolean
}

const startupSeconds = 60
const attempts = 20
const pauseMs = 100

/**
 * Uses the server that runs on this cluster or starts one. A start can fail for reasons that pass within two seconds: another
 * process started it first, another program took the port, the children of a killed postmaster still hold its memory. Messages do not
 * distinguish them, so each attempt checks again. The price: a start that cannot succeed takes those seconds to fail.
 */
export async function adoptOrLaunch(cluster: Cluster): Promise<Server> {
  let complaint = ''
  for (let attempt = 0; attempt < attempts; attempt++) {
    const running = await findRunning(cluster.directory)
    if (running) return { ...running, adopted: true }
    await discardStalePostmasterFile(cluster.directory)
    const launched = await launch(cluster, await choosePort(cluster.directory))
    if (typeof launched !== 'string') return { ...launched, adopted: false }
    complaint = launched
    await pause(pauseMs)
  }
  throw new HoldfastError(
    'database_unavailable',
    `Postgres does not start on ${cluster.directory} (log: ${cluster.log}):\n${complaint}`,
  )
}

/** The server on this cluster once it is ready; undefined when there is none, or it was stopping and has stopped. */
async function findRunning(directory: string): Promise<{ pid: number; port: number } | undefined> {
  const found = await waitFor(startupSeconds, async () => {
    const file = await readPostmasterFile(directory)
    if (!file || !isPostmasterOf(directory, file.pid)) return 'none'
    return file.status === 'ready' ? { pid: file.pid, port: file.port } : undefined
  })
  if (found === undefined)
    throw new HoldfastError('database_unavailable', `the Postgres on ${directory} runs but does not get ready`)
  return found === 'none' ? undefined : found
}

/** Starts a postmaster that outlives us; returns when it is ready, or what its log says if it ended before. */
async function launch(cluster: Cluster, port: number): Promise<{ pid: number; port: number } | string> {
  const log = openLog(cluster.log, cluster.identity)
  const before = fstatSync(log).size
  const child = spawn(program(cluster.binaries, 'postgres'), serverArguments(cluster, port), {
    ...surroundings(cluster.binaries.binDir, cluster.identity),
    // Its own session: Ctrl-C in our terminal must not stop it under running jobs, and it must not die with us.
    detached: true,
    windowsHide: true,
    stdio: ['ignore', log, log],
  })
  let failure: string | undefined
  child.once('error', (error) => {
    failure = error.message
  })
  child.once('exit', () => {
    failure ??= readFileSync(cluster.log).subarray(before).toString().trim().slice(-2_000) || 'it ended without a word'
  })
  child.unref()
  closeSync(log)
  const outcome = await waitFor(startupSeconds, async () => {
    if (failure !== undefined) return failure
    const file = await readPostmasterFile(cluster.directory)
    return file?.pid === child.pid && file?.status === 'ready' ? { pid: file.pid, port: file.port } : undefined
  })
  // From here on it may be stopped at any time, and its log may be gone by then.
  child.removeAllListeners('exit')
  return outcome ?? `it is not ready after ${startupSeconds} seconds`
}

function serverArguments(cluster: Cluster, port: number): string[] {
  // Ours come last and take precedence: whatever the settings say, only this machine can connect.
  const settings = { ...cluster.settings, listen_addresses: host, unix_socket_directories: '' }
  return [
    '-D',
    cluster.directory,
    '-p',
    String(port),
    ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]
}

/** Opened here and passed on, so that Postgres needs no right to the directory. Links are not followed, because root may open it. */
function openLog(path: string, identity: Identity | undefined): number {
  const append = constants.O_WRONLY | constants.O_APPEND | (constants.O_NOFOLLOW ?? 0)
  try {
    const made = openSync(path, append | constants.O_CREAT | constants.O_EXCL, 0o600)
    if (identity) fchownSync(made, identity.uid, identity.gid)
    return made
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return openSync(path, append)
  }
}
