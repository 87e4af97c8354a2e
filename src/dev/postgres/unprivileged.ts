import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { HoldfastError } from '../../errors.js'
import { type Identity, runProgram } from './programs.js'

/**
 * The user as whom root runs Postgres: the owner of the cluster, which Postgres insists on; else the owner of the directory it is to
 * be made in (so `sudo npm start` leaves files the user can use later); else `postgres`; else `nobody`. Undefined: ourselves.
 */
export async function chooseIdentity(clusterDir: string): Promise<Identity | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const owner = ownerOf(clusterDir)
  if (owner) return owner
  const above = ownerOf(nearestExisting(dirname(clusterDir)))
  const named = (above && (await lookUp(String(above.uid)))) ?? (await lookUp('postgres')) ?? (await lookUp('nobody'))
  if (named) return named
  throw new HoldfastError(
    'database_unavailable',
    'Postgres does not run as root, and there is neither a user postgres nor a user nobody to run it as. Make one (useradd --system postgres), or run Holdfast as an ordinary user.',
  )
}

/** Who owns the directory, unless that is root or it does not exist. */
export function ownerOf(directory: string): Identity | undefined {
  const found = statSync(directory, { throwIfNoEntry: false })
  return found && found.uid !== 0 ? { uid: found.uid, gid: found.gid, name: `with id ${found.uid}` } : undefined
}

/** Finds out by trying, because modes, access lists and security modules all decide it. */
export async function canEnter(directory: string, identity: Identity): Promise<boolean> {
  return (await runProgram('/bin/sh', ['-c', 'cd -- "$1"', 'sh', directory], identity)).ok
}

/** initdb refuses a user without an entry in the user database, so such a user is not used. */
async function lookUp(nameOrId: string): Promise<Identity | undefined> {
  const [name, uid, gid] = await Promise.all(['-un', '-u', '-g'].map((flag) => runProgram('id', [flag, nameOrId])))
  if (!name?.ok || !uid?.ok || !gid?.ok) return undefined
  // Some systems print nobody's id as 4294967294, others as -2; spawn takes the latter.
  return { name: name.stdout.trim(), uid: Number(uid.stdout) | 0, gid: Number(gid.stdout) | 0 }
}

function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path))
}
