import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Vitals } from '../background/vital-signs.js'
import { HoldfastError } from '../errors.js'
import type { RecordedActor } from '../job/actor.js'
import { didYouMean } from '../job/nearest.js'
import { refused } from '../job/refused.js'
import type { NamedType, RemoteWorkerRow } from '../store/remote-rows.js'
import { explained } from '../store/sqlstate.js'
import type { Store } from '../store/store.js'

/** A remote worker whose token was right. */
export interface RemoteWorker extends Omit<RemoteWorkerRow, 'hash'> {
  id: number
}

const secretBytes = 32

/**
 * Registers and authenticates remote workers. A lease id is a sequence number that can be guessed, so it is not enough: every
 * request has the worker's token, and only leases of that worker are touched. The token is the worker's id and 256 random bits,
 * which only the answer to its registration shows; the database has their SHA-256. So neither another worker with the same API
 * key nor a reader of the database can settle, renew or hand back its jobs, and a server needs no secret of its own:
 * any instance can answer any request.
 */
export class RemoteWorkers {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /**
   * Registers a worker for these types, and the types that it defines. For a type that is registered already, `mayChange` allows to
   * change the fields that the definition names, but never its lane and `sensitive`. `versions`: the newest payloads that the worker knows,
   * by type; a claim leaves newer ones out. Of a type that is missing there it is given every job.
   */
  async register(
    worker: { name: string; host: string; pid: number; version: string; build: string | null },
    types: readonly (string | NamedType)[],
    versions: ReadonlyMap<string, number>,
    { mayChange, who }: { mayChange: boolean; who: RecordedActor },
  ): Promise<{ id: number; token: string; types: string[] }> {
    try {
      const names = [...new Set(types.map((type) => (typeof type === 'string' ? type : type.type)))]
      const stray = [...versions.keys()].find((name) => !names.includes(name))
      if (stray !== undefined)
        throw refused(`payload_versions.${stray.slice(0, 100)}`, `is not for a type of this worker${didYouMean(stray, names)}`)
      const defined = types.filter((type) => typeof type !== 'string').map((type) => versioned(type, versions.get(type.type)))
      if (defined.length > 0) {
        await this.#checkLanes(defined)
        await this.#store.remote.registerTypes(defined, mayChange, who)
        await this.#store.remote.defineUses(defined, who)
      }
      const rows = await this.#store.types(names)
      const missing = names.find((name) => !rows.some((row) => row.name === name))
      if (missing !== undefined) throw await this.#unknown(missing, types.indexOf(missing))
      if (versions.size > 0) await this.#store.remote.knowVersions(versions, mayChange, who)
      const secret = randomBytes(secretBytes).toString('base64url')
      const id = await this.#store.remote.register({
        ...worker,
        types: rows.map((row) => row.id),
        versions: versions.size > 0 ? rows.map((row) => versions.get(row.name) ?? null) : null,
        hash: hashed(secret).toString('hex'),
      })
      return { id, token: `${id}.${secret}`, types: names }
    } catch (error) {
      throw explained(error)
    }
  }

  /** The worker whose token this is, and what it says of its process. */
  async identify(token: string, vitals: Partial<Vitals> = {}): Promise<RemoteWorker> {
    const [, id = '', secret = ''] = /^(\d{1,9})\.([\w-]{20,100})$/.exec(token) ?? []
    const hash = hashed(secret)
    const row = id === '' ? undefined : await this.#store.remote.worker(Number(id), hash.toString('hex'), vitals)
    // Both digests have one length, so the comparison takes the same time however many bytes match.
    if (!row || !timingSafeEqual(hash, Buffer.from(row.hash, 'hex'))) {
      throw new HoldfastError(
        'unknown_worker',
        'no worker with this token is registered; register again, and use the new token',
        {
          field: 'worker',
        },
      )
    }
    const { hash: _, ...known } = row
    return { id: Number(id), ...known }
  }

  /** Ends a worker. Jobs it still holds are handed back at once, without an attempt spent. */
  async signOff(worker: RemoteWorker): Promise<number> {
    await this.#store.unsubscribeIdle(worker.id)
    const given = await this.#store.releaseUnacknowledged(worker.id, [])
    await this.#store.workerStopped(worker.id)
    return given
  }

  async #checkLanes(types: readonly NamedType[]): Promise<void> {
    const lanes = (await this.#store.lanes()).map((lane) => lane.name)
    for (const { type, lane, index } of types) {
      if (lane === undefined || lanes.includes(lane)) continue
      const problem = `${type} names the lane "${lane}", which does not exist${didYouMean(lane, lanes)}; there are ${lanes.join(', ')}`
      throw new HoldfastError('unknown_lane', problem, { field: `types[${index}].lane` })
    }
  }

  async #unknown(missing: string, index: number): Promise<HoldfastError> {
    const known = (await this.#store.types(null)).map((row) => row.name)
    const problem = `no job type named "${missing}" is registered${didYouMean(missing, known)}; give its definition instead of its name`
    return new HoldfastError('unknown_type', problem, { field: `types[${index}]` })
  }
}

function versioned(type: NamedType, version: number | undefined): NamedType {
  return version === undefined ? type : { ...type, version }
}

function hashed(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}
