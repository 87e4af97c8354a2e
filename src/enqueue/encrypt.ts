import { monotonicMs } from '../clock.js'
import { HoldfastError } from '../errors.js'
import type { JobRequest } from '../job/type.js'
import { refuseUnderEncryption, type Uniqueness } from '../job/unique.js'
import { isEncrypted } from '../privacy/keyring.js'
import type { Privacy } from '../privacy/privacy.js'
import { explained } from '../store/sqlstate.js'
import type { NewJob, Store } from '../store/store.js'
import { asQueryable, type CallerTransaction } from '../store/transaction.js'
import type { TypeRegistry } from './registry.js'
import { encryptWebhooks } from './webhook.js'

interface Facts {
  encrypt: boolean
  unique: Uniqueness | null | undefined
}

/** For how long a type without a definition here is taken as it was read. If it has changed since, the database refuses the job. */
const freshForMs = 5_000

/** Encrypts payloads, and the secrets of webhooks, before they leave this process. */
export class PayloadEncryption {
  readonly #store: Store
  readonly #registry: TypeRegistry
  readonly #privacy: Privacy
  readonly #hosts: readonly string[]
  readonly #named = new Map<string, Facts & { readAt: number }>()

  constructor(store: Store, registry: TypeRegistry, privacy: Privacy, hosts: readonly string[]) {
    this.#store = store
    this.#registry = registry
    this.#privacy = privacy
    this.#hosts = hosts
  }

  /** Undefined if no job is to be encrypted: most processes have no keys. */
  encrypt(requests: readonly JobRequest[], jobs: readonly NewJob[], tx?: CallerTransaction): Promise<void> | undefined {
    const encrypted = jobs.findIndex(({ payload }) => isEncrypted(payload))
    if (encrypted >= 0) throw reserved(encrypted)
    encryptWebhooks(jobs, this.#hosts, this.#privacy)
    if (!this.#privacy.keyring && !requests.some(({ type }) => typeof type !== 'string' && type.encrypt)) return undefined
    return this.#encryptAll(requests, jobs, tx)
  }

  async #encryptAll(requests: readonly JobRequest[], jobs: readonly NewJob[], tx?: CallerTransaction): Promise<void> {
    await this.#read(
      requests.map(({ type }) => type).filter((type) => typeof type === 'string'),
      tx,
    )
    for (const [index, job] of jobs.entries()) {
      const { encrypt, unique } = this.#facts((requests[index] as JobRequest).type)
      if (!this.#privacy.encrypts(encrypt)) continue
      refuseUnderEncryption(job.unique ?? unique, job.type)
      job.payload = this.#privacy.encrypt(job.type, job.id, job.payload)
    }
  }

  #facts(type: JobRequest['type']): Facts {
    const definition = typeof type === 'string' ? this.#registry.definitionOf(type) : type
    return definition ?? this.#named.get(type as string) ?? { encrypt: false, unique: null }
  }

  /** What the database says about types that this process has no definition of. */
  async #read(names: readonly string[], tx?: CallerTransaction): Promise<void> {
    const stale = (name: string) => {
      const known = this.#named.get(name)
      return !this.#registry.definitionOf(name) && (!known || monotonicMs() - known.readAt > freshForMs)
    }
    const asked = [...new Set(names)].filter(stale)
    if (asked.length === 0) return
    try {
      const readAt = monotonicMs()
      for (const row of await this.#store.types(asked, tx && asQueryable(tx))) {
        this.#named.set(row.name, { encrypt: row.encrypted, unique: row.uniqueness, readAt })
      }
    } catch (error) {
      throw explained(error)
    }
  }
}

/** Refuses a payload of the caller's that looks encrypted: only this process encrypts. */
export function reserved(index?: number): HoldfastError {
  const problem = 'payload begins with the field $enc, which is reserved for encrypted payloads; rename it'
  const error = new HoldfastError('invalid_payload', problem, { field: 'payload' })
  error.index = index
  return error
}
