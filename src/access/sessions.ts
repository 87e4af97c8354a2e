import { type Actor, checkedActor } from '../job/actor.js'
import type { SessionStore } from '../store/session-store.js'
import { told } from '../store/sqlstate.js'
import { type Caller, callerOf } from './caller.js'
import { freshSession, hashOf } from './key.js'

/** A working day: whoever comes back tomorrow shows the key again. */
export const sessionMs = 12 * 3_600_000

export interface FoundSession {
  /** Whom its key stands for; undefined: the installation's own key. */
  caller: Caller | undefined
  endsAt: Date
}

/** What a page has in place of a key: it ends by itself, with its key, or when somebody says so. Only its hash is kept. */
export class Sessions {
  readonly #store: SessionStore

  constructor(store: SessionStore) {
    this.#store = store
  }

  /** For a key by its number. That of the installation is known here by its hash alone, and has none. */
  async open(key: number | { installation: string }, who: Actor): Promise<{ token: string; endsAt: Date }> {
    const token = freshSession()
    const [hash, id] = typeof key === 'number' ? [hashOf(token), key] : [installationHash(token, key.installation), null]
    return { token, endsAt: new Date(await told(this.#store.open(hash, id, sessionMs, checkedActor(who)))) }
  }

  /** Undefined where it has ended, or its key has. */
  async find(token: string, installation: string): Promise<FoundSession | undefined> {
    const found = await told(this.#store.find(hashOf(token), installationHash(token, installation)))
    if (!found) return undefined
    const { id, ends, ...key } = found
    return { caller: id === null ? undefined : callerOf({ ...key, id }), endsAt: new Date(ends) }
  }

  async end(token: string, installation: string, who: Actor): Promise<void> {
    for (const hash of [hashOf(token), installationHash(token, installation)])
      await told(this.#store.end(hash, checkedActor(who)))
  }
}

/**
 * The database does not know the installation's own key, and must not be able to guess it from what is kept. Mixed into the hash
 * of a token that nobody can guess, it binds the session to the key and tells nothing.
 */
function installationHash(token: string, installation: string): string {
  return hashOf(`${token}.${installation}`)
}
