import { type Actor, checkedActor } from '../job/actor.js'
import { showValue } from '../job/failure.js'
import { refused } from '../job/refused.js'
import { storableText } from '../job/text.js'
import type { SessionStore } from '../store/session-store.js'
import { told } from '../store/sqlstate.js'
import { type Caller, callerOf } from './caller.js'
import { freshSession, hashOf } from './key.js'

/** A session lasts a working day; the next day people enter the key again. */
export const sessionMs = 12 * 3_600_000

/** Whom an identity provider has named, and the roles of their groups. */
export interface Person {
  person: string
  roles: readonly string[]
}

export interface FoundSession {
  /** The caller of its key, or the person; undefined: the installation's own key. */
  caller: Caller | undefined
  endsAt: Date
}

/** Sessions, which pages use in place of a key. A session ends after its time, with its key, or when it is ended. Only its hash is stored. */
export class Sessions {
  readonly #store: SessionStore

  constructor(store: SessionStore) {
    this.#store = store
  }

  /**
   * Starts a session for a key, by the key's number; the installation's own key has none and is given by its hash; or for a person with
   * these roles.
   */
  async open(owner: number | { installation: string } | Person, who: Actor): Promise<{ token: string; endsAt: Date }> {
    const token = freshSession()
    const [key, person] = typeof owner === 'number' ? [owner, null] : [null, 'person' in owner ? owner : null]
    const own = typeof owner !== 'number' && 'installation' in owner
    const hash = own ? installationHash(token, owner.installation) : hashOf(token)
    return { token, endsAt: new Date(await told(this.#store.open(hash, { key, person }, sessionMs, checkedActor(who)))) }
  }

  /** Undefined if the session or its key has ended. */
  async find(token: string, installation: string): Promise<FoundSession | undefined> {
    const found = await told(this.#store.find(hashOf(token), installationHash(token, installation)))
    if (!found) return undefined
    const { id, ends, ...key } = found
    return {
      caller: id === null && key.service === null ? undefined : callerOf({ ...key, service: key.service as string, id }),
      endsAt: new Date(ends),
    }
  }

  async end(token: string, installation: string, who: Actor): Promise<void> {
    for (const hash of [hashOf(token), installationHash(token, installation)])
      await told(this.#store.end(hash, checkedActor(who)))
  }

  /**
   * Ends every session of a person who signed in through a provider, such as `person:ada@example.com`. Answers with how many there were. Who may
   * still sign in there can come back.
   */
  async endOf(person: string, who: Actor): Promise<number> {
    if (typeof person !== 'string' || !person.startsWith('person:')) {
      throw refused(
        'person',
        `is ${showValue(person)}; it must be a name as the audit log has it, such as person:ada@example.com`,
      )
    }
    return told(this.#store.endOf(storableText(person, 'person'), checkedActor(who)))
  }
}

/**
 * The database does not have the installation's own key, and must not be able to guess it from what is stored. Hashed together with a
 * token that nobody can guess, the key binds the session to itself without being revealed.
 */
function installationHash(token: string, installation: string): string {
  return hashOf(`${token}.${installation}`)
}
