import type pg from 'pg'

export interface HeartbeatSettings {
  worker: number
  intervalMs: number
  /** The lease of lanes that have none of their own. */
  leaseMs: number
  /** A worker that has said nothing for this long hangs: its leases are no longer renewed. */
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
 * How long one try of a heartbeat may take to connect and to be answered: shares of the shortest lease that is held. On a slow
 * network a try that is given up after seconds never succeeds, and every job would be lost to that; a connection that is dead
 * without a word is found to be while the lease leaves the time for another.
 */
export function heartbeatPatience(leasesMs: readonly number[]): { connectMs: number; answerMs: number } {
  const leaseMs = Math.min(...leasesMs)
  return { connectMs: Math.max(leastMs, leaseMs / 2), answerMs: Math.max(leastMs, leaseMs / 3) }
}
