import { type Actor, checkedActor } from '../job/actor.js'
import type { SessionStore } from '../store/session-store.js'
import { told } from '../store/sqlstate.js'
import { type Caller, callerOf } from './caller.js'
import { freshSession, hashOf } from './key.js'

/** A session lasts a working day; the next day people enter the key again. */
export const sessionMs = 12 * 3_600_000

export interface FoundSession {
  /** The caller of its key; undefined: the installation's own key. */
  caller: Caller | undefined
  endsAt: Date
}

/** Sessions, which pages use in place of a key. A session ends after its time, with its key, or when it is ended. Only its hash is stored. */
export class Sessions {
  readonly #store: SessionStore

  constructor(store: SessionStore) {
    this.#store = store
  }

  /** Starts a session for a key, by the key's number. The installation's own key has none and is given by its hash. */
  async open(key: number | { installation: string }, who: Actor): Promise<{ token: string; endsAt: Date }> {
    const token = freshSession()
    const [hash, id] = typeof key === 'number' ? [hashOf(token), key] : [installationHash(token, key.installation), null]
    return { token, endsAt: new Date(await told(this.#store.open(hash, id, sessionMs, checkedActor(who)))) }
  }

  /** Undefined if the session or its key has ended. */
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
 * The database does not have the installation's own key, and must not be able to guess it from what is stored. Hashed together with a
 * token that nobody can guess, the key binds the session to itself without being revealed.
 */
function installationHash(token: string, installation: string): string {
  return hashOf(`${token}.${installation}`)
}
