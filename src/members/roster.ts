import { monotonicMs, sleep } from '../clock.js'
import { HoldfastError } from '../errors.js'
import type { MemberStore } from '../store/member-store.js'
import { isConnectionTrouble } from '../store/sqlstate.js'

/** What a process knows of one member. */
interface Known {
  /** Whether jobs are routed there, as it was last read; before that it counts as if they were. */
  routed: boolean
  /** It did not answer when it was last asked. */
  away: boolean
}

/** For so long what was read of the members counts: a producer follows the opening or draining of one within this time. */
const staleMs = 5_000
/** A member that says nothing for so long does not hold up the jobs of the others. */
const answerWithinMs = 1_000

/** Which members there are, whether jobs are routed to each, and that each is who it is believed to be. */
export class Roster {
  readonly #stores: ReadonlyMap<string, MemberStore>
  readonly #known = new Map<string, Known>()
  #readAt = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | undefined

  constructor(stores: ReadonlyMap<string, MemberStore>) {
    this.#stores = stores
  }

  /**
   * The members that jobs are routed to. `able`: only those that answered, for jobs that any of them may have; the job of a key belongs to its member
   * also while that is away.
   */
  async routed({ able }: { able: boolean }): Promise<string[]> {
    await this.refresh()
    const open = [...this.#stores.keys()].filter((name) => this.#known.get(name)?.routed ?? true)
    if (open.length === 0) {
      const all = [...this.#stores.keys()].join(', ')
      throw new HoldfastError('conflict', `no member takes jobs by their key: ${all} are drained; open one, or name a member`)
    }
    const answering = open.filter((name) => !this.#known.get(name)?.away)
    return able && answering.length > 0 ? answering : open
  }

  /** Whether it answered when it was last asked. */
  async answers(name: string): Promise<boolean> {
    await this.refresh()
    return !this.#known.get(name)?.away
  }

  /** Forgets what was read, after a member was opened or drained by this process. */
  forget(): void {
    this.#readAt = Number.NEGATIVE_INFINITY
  }

  async refresh(): Promise<void> {
    if (monotonicMs() - this.#readAt < staleMs) return
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined
    })
    await this.#reading
  }

  async #readAll(): Promise<void> {
    await Promise.all([...this.#stores].map(([name, store]) => this.#readOne(name, store)))
    this.#readAt = monotonicMs()
  }

  async #readOne(name: string, store: MemberStore): Promise<void> {
    const before = this.#known.get(name)
    const silent = { routed: before?.routed ?? true, away: true }
    const read = store.read().then(
      (row) => {
        if (row) checkName(row.name, name)
        return { routed: row?.routed ?? true, away: false }
      },
      (error) => {
        if (isConnectionTrouble(error)) return silent
        throw error
      },
    )
    const known = await Promise.race([read, sleep(answerWithinMs, { unref: true }).then(() => silent)])
    // What is said too late still counts, and a wrong name is told by the next call.
    read.then(
      (late) => this.#known.set(name, late),
      () => {},
    )
    this.#known.set(name, known)
  }
}

/** Addresses that were mixed up would store jobs where nobody looks for their keys. */
export function checkName(says: string, configured: string): void {
  if (says === configured) return
  const problem = `the database at the address of ${configured} says that it is the member ${says}; the addresses are mixed up, or a member was given another name`
  throw new HoldfastError('invalid_configuration', problem, { field: 'members' })
}
