import { randomBytes } from 'node:crypto'
import { chmodSync, lchownSync, linkSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HoldfastError } from '../../errors.js'
import type { LogLevel } from '../../job/log-level.js'
import { shortestKey } from '../../server/callers.js'
import type { Logger } from '../../worker/logger.js'
import { homeOfUp } from '../database-url.js'
import { logToFile } from './log-file.js'

/** What `holdfast up` keeps on this machine, in .holdfast/ where it was started. */
export class Home {
  /** The directory as a person at the prompt would write it. */
  static readonly shown = homeOfUp
  /** A directory of its own for Postgres: as root it runs as another user, who must not own the key's directory. */
  readonly postgres: string
  readonly #directory: string

  constructor(above: string) {
    this.#directory = join(above, Home.shown)
    this.postgres = join(this.#directory, 'postgres')
    orExplain(() => {
      if (mkdirSync(this.#directory, { recursive: true })) giveTo(above, this.#directory)
      // It contains a key and a password, which must not end up in a repository.
      this.#write('.gitignore', '*\n', 0o644)
    })
  }

  /** The key made at the first start. Two processes that start at once both use the one that was written first. */
  adminKey(): string {
    return orExplain(() => {
      const file = join(this.#directory, 'admin.key')
      const own = this.#write(`admin.key.${process.pid}`, `hf_${randomBytes(24).toString('base64url')}\n`, 0o600)
      try {
        linkSync(own, file)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      } finally {
        rmSync(own)
      }
      chmodSync(file, 0o600)
      const key = readFileSync(file, 'utf8').trim()
      if (/^\S+$/.test(key) && key.length >= shortestKey) return key
      const problem = `${Home.shown}/admin.key has no key of at least ${shortestKey} characters; remove the file to get a new key`
      throw new HoldfastError('invalid_configuration', problem, { field: 'adminKey' })
    })
  }

  /** The address of our own Postgres, for psql and for the user's own workers. It contains the password. */
  keepDatabaseUrl(url: string): void {
    orExplain(() => renameSync(this.#write('database.url.new', `${url}\n`, 0o600), join(this.#directory, 'database.url')))
  }

  log(level: LogLevel): Logger {
    const path = join(this.#directory, 'holdfast.log')
    return orExplain(() => logToFile(path, level, () => giveTo(this.#directory, path)))
  }

  #write(name: string, text: string, mode: number): string {
    const path = join(this.#directory, name)
    writeFileSync(path, text, { mode })
    giveTo(this.#directory, path)
    return path
  }
}

/** Files that root makes in a user's directory are given to that user, so that the next start needs no root. */
function giveTo(directory: string, path: string): void {
  if (process.getuid?.() !== 0) return
  const { uid, gid } = statSync(directory)
  lchownSync(path, uid, gid)
}

function orExplain<Result>(work: () => Result): Result {
  try {
    return work()
  } catch (error) {
    if (error instanceof HoldfastError) throw error
    const problem = `${Home.shown} cannot be used here: ${(error as Error).message}. Start Holdfast in a directory of your own`
    throw new HoldfastError('invalid_configuration', problem, { cause: error })
  }
}
