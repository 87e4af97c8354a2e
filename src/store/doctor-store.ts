import { monotonicMs, sleep, wallMs } from '../clock.js'
import type { Database } from './database.js'
import { Listener } from './listener.js'
import { statement } from './queries.js'
import type { DurabilitySettings } from './rows.js'

/** Settings and counts of the server. */
export interface ServerFacts {
  settings: Record<string, string>
  used: number
  ours: number
  /** How full the queue of notifications is, 0 to 1. */
  notify_queue: number
  /** Whether this role sees what the sessions of others do. */
  sees_all: boolean
}

export interface TableFacts {
  name: string
  live: number
  dead: number
  changed: number
  never_vacuumed: boolean
}

/** Who keeps vacuum from removing rows, or the server from removing its log. */
export interface HolderFacts {
  kind: 'session' | 'prepared' | 'slot'
  name: string
  who: string
  /** In milliseconds; null where nobody knows. */
  age: number | null
  /** How many bytes of the server's log are kept for a slot. */
  behind: number | null
  active: boolean
}

export interface CatalogFacts {
  /** Tables by name, and of each column its type and whether it is never null. */
  tables: Record<string, Record<string, [type: string, notNull: boolean]>>
  /** As table.constraint. */
  constraints: string[]
  indexes: { name: string; table: string; valid: boolean }[]
  triggers: { name: string; table: string; enabled: boolean }[]
  functions: [name: string, text: string][]
}

export interface WorkerFacts {
  id: number
  name: string
  host: string
  pid: number
  connections: number | null
  swallowed: boolean
  remote: boolean
}

export interface LaneFacts {
  name: string
  enabled: boolean
  types: string[]
  free: number
  workers: number
}

export interface PartitionFacts {
  missing: string[]
  /** How long ago retention last ran, in milliseconds; null: never. */
  idle: number | null
  overdue: string[]
  /** Days that retention keeps until they are archived. */
  unarchived: string[]
}

/** Clocks in milliseconds since 1970, and how far the answer may be off. */
export interface ClockFacts {
  here: number
  server: number
  ours: number
  within: number
}

/** Everything that a check-up looks at. */
export interface DoctorFacts {
  durability: DurabilitySettings
  server: ServerFacts
  tables: TableFacts[]
  holders: HolderFacts[]
  catalog: CatalogFacts
  release: { release: string; hash: string; newest: number }
  clock: ClockFacts
  workers: WorkerFacts[]
  lanes: LaneFacts[]
  partitions: PartitionFacts
  /** Whether a notification arrives on a connection made like this one, or why not; undefined: nobody could tell in time. */
  hears: true | string | undefined
}

/** Jobs beyond this many are not counted. */
export const mostCounted = 1_000
const hearWithinMs = 8_000
const lookAgainMs = 10

/** Reads what a check-up looks at. Writes nothing that stays. */
export class DoctorStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  async facts(): Promise<DoctorFacts> {
    const [server] = await this.#database.query<ServerFacts>(statement('doctorServer'), [])
    const [catalog] = await this.#database.query<CatalogFacts>(statement('doctorCatalog'), [])
    const [release] = await this.#database.query<DoctorFacts['release']>(statement('doctorReleases'), [])
    const [partitions] = await this.#database.query<PartitionFacts>(statement('doctorPartitions'), [])
    return {
      durability: durabilityOf(server as ServerFacts),
      server: server as ServerFacts,
      tables: await this.#database.query(statement('doctorTables'), []),
      holders: await this.#database.query(statement('doctorHolders'), []),
      catalog: catalog as CatalogFacts,
      release: release as DoctorFacts['release'],
      clock: await this.#clock(),
      workers: await this.#database.query(statement('doctorWorkers'), []),
      lanes: await this.#database.query(statement('doctorLanes'), [mostCounted]),
      partitions: partitions as PartitionFacts,
      hears: await this.#hears(),
    }
  }

  /** A worker found out that its notifications are swallowed, or that they arrive again. */
  async wakeUpsSwallowed(worker: number, swallowed: boolean): Promise<void> {
    await this.#database.query(statement('wakeUpsSwallowed'), [worker, swallowed])
  }

  async #clock(): Promise<ClockFacts> {
    const [before, begun] = [wallMs(), monotonicMs()]
    const [row] = await this.#database.query<{ server: number; ours: number }>(statement('doctorClock'), [])
    const within = (monotonicMs() - begun) / 2
    return { here: before + within, ...(row as { server: number; ours: number }), within }
  }

  /** Listens as a worker does, which finds out about poolers by itself. */
  async #hears(): Promise<true | string | undefined> {
    const listener = new Listener(this.#database, 'waiters', { notified() {}, ordered() {}, disconnected() {} })
    const begun = monotonicMs()
    listener.start()
    try {
      while (monotonicMs() - begun < hearWithinMs) {
        if (listener.listening) return true
        if (listener.unreachable !== undefined) return listener.unreachable
        await sleep(lookAgainMs)
      }
      return undefined
    } finally {
      await listener.stop()
    }
  }
}

function durabilityOf({ settings }: ServerFacts): DurabilitySettings {
  const setting = (name: string) => settings[name] ?? ''
  const [commits, standbys] = [setting('synchronous_commit'), setting('synchronous_standby_names')]
  return { fsync: setting('fsync'), pages: setting('full_page_writes'), commits, standbys }
}
