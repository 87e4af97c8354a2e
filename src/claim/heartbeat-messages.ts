import type pg from 'pg'

export interface HeartbeatSettings {
  worker: number
  intervalMs: number
  /** A worker that has said nothing for this long hangs: its leases are no longer renewed. */
  patienceMs: number
  connection: pg.ClientConfig
}

/** From the worker to its heartbeat thread. */
export type ToHeartbeat =
  | { kind: 'hold'; lease: string; leaseMs: number }
  | { kind: 'release'; leases: readonly string[] }
  | { kind: 'alive' }
  | { kind: 'beat_now' }
  | { kind: 'stop' }

/** From the heartbeat thread to its worker. */
export type FromHeartbeat =
  | { kind: 'beat' }
  | { kind: 'lost'; leases: readonly string[] }
  | { kind: 'cancelled'; jobs: readonly string[] }
  | { kind: 'trouble'; message: string }
  | { kind: 'stopped' }
