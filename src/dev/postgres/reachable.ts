import { createHash, randomUUID } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { access, chmod, copyFile, link, lstat, mkdir, readdir, readlink, rename, rm, stat, symlink } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { HoldfastError } from '../../errors.js'
import { makeLibraryLinks } from './library-links.js'

/**
 * A directory of ours that the user who runs Postgres can enter. Programs are run from here, so it must belong to us and
 * nobody else may write to it: otherwise any local user could put a program there before we look.
 */
export async function reachableBase(): Promise<string> {
  const uid = process.getuid?.()
  const ordinary = [
    join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'holdfast'),
    join(tmpdir(), `holdfast-${uid ?? 'user'}`),
  ]
  const candidates = uid === 0 ? ['/var/lib/holdfast', '/var/tmp/holdfast'] : ordinary
  for (const candidate of candidates) {
    try {
      if (await mkdir(candidate, { recursive: true })) await chmod(candidate, 0o755)
      await access(candidate, constants.W_OK)
      const found = await lstat(candidate)
      if (found.isDirectory() && (uid === undefined || (found.uid === uid && (found.mode & 0o022) === 0))) return candidate
    } catch {
      // The next candidate may work; if none does, the error below names them all.
    }
  }
  throw new HoldfastError(
    'database_unavailable',
    `Postgres needs a directory of its own and none can be made: ${candidates.join(', ')}`,
  )
}

/** The same name for the same path on every start, so that the next start finds what this one made. */
export function nameFor(kind: string, path: string): string {
  return `${kind}-${createHash('sha256').update(path).digest('hex').slice(0, 12)}`
}

/**
 * Copies an installation (`bin`, `lib`, `share`) once. Hard links where the file system allows it and everybody may read the file,
 * so that it costs no space; made in a temporary directory and renamed, so that nobody ever runs half of it.
 */
export async function copyToReachablePlace(installRoot: string, version: string): Promise<string> {
  // The time is part of the name, so that an installation made anew at the same path is copied anew.
  const { mtimeMs } = await stat(join(installRoot, 'bin'))
  const directory = join(await reachableBase(), nameFor(`postgres-${version}`, `${installRoot} ${mtimeMs}`))
  if (existsSync(directory)) return directory
  const aside = `${directory}.new-${randomUUID()}`
  try {
    await mkdir(aside)
    await chmod(aside, 0o755)
    for (const part of ['bin', 'lib', 'share', 'pg-symlinks.json']) {
      if (existsSync(join(installRoot, part))) await copyTree(join(installRoot, part), join(aside, part))
    }
    await makeLibraryLinks(aside)
    await rename(aside, directory)
  } catch (error) {
    await rm(aside, { recursive: true, force: true })
    if (!existsSync(directory)) throw error
  }
  return directory
}

async function copyTree(from: string, to: string): Promise<void> {
  const found = await lstat(from)
  if (found.isSymbolicLink()) return symlink(await readlink(from), to)
  if (found.isFile()) return linkOrCopy(from, to, found.mode)
  await mkdir(to)
  await chmod(to, 0o755)
  for (const name of await readdir(from)) await copyTree(join(from, name), join(to, name))
}

async function linkOrCopy(from: string, to: string, mode: number): Promise<void> {
  // Everybody must be able to do what the owner may; a hard link shares its mode with the original, which we must not change.
  const open = 0o444 | (mode & 0o100 ? 0o111 : 0)
  if ((mode & open) === open) {
    const linked = await link(from, to).then(
      () => true,
      () => false,
    )
    if (linked) return
  }
  await copyFile(from, to)
  await chmod(to, mode | open)
}
