import type pg from 'pg'

export interface HeartbeatSettings {
  worker: number
  intervalMs: number
  /** The lease of lanes that have none of their own. */
  leaseMs: number
  /** A worker that has sent nothing to the thread for this long hangs: its leases are no longer renewed. */
  patienceMs: number
  connection: pg.ClientConfig
  schema: string
}

/** From the worker to its heartbeat thread. */
export type ToHeartbeat =
  | { kind: 'hold'; lease: string; leaseMs: number }
  | { kind: 'release'; leases: readonly string[] }
  | { kind: 'alive'; lookedMsAgo: number | null }
  | { kind: 'beat_now' }
  | { kind: 'stop' }

/** From the heartbeat thread to its worker. */
export type FromHeartbeat =
  | { kind: 'beat' }
  | { kind: 'lost'; leases: readonly string[] }
  | { kind: 'cancelled'; jobs: readonly string[] }
  | { kind: 'trouble'; message: string }
  | { kind: 'stopped' }

const leastMs = 5_000

/**
 * How long one heartbeat may take to connect and to be answered: a half and a third of the shortest lease that is held. Shorter, no
 * heartbeat would succeed on a slow network, and the worker would lose every job; longer, a half-open connection would be noticed too
 * late for another try within the lease.
 */
export function heartbeatPatience(leasesMs: readonly number[]): { connectMs: number; answerMs: number } {
  const leaseMs = Math.min(...leasesMs)
  return { connectMs: Math.max(leastMs, leaseMs / 2), answerMs: Math.max(leastMs, leaseMs / 3) }
}
