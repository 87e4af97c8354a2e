import type { TypeGateAnswer, WorkersAnswer } from '../../api/admin.js'
import type { Holdfast } from '../../holdfast.js'
import { insideOf } from '../../inside.js'
import { gateAnswer, laneAnswer } from './admin-answers.js'

/** The workers that live, the lanes, and how much waits, in the words of the API. */
export async function workersAnswer(holdfast: Holdfast): Promise<WorkersAnswer> {
  const { inspect } = insideOf(holdfast).store
  const [workers, lanes, depths] = await Promise.all([inspect.liveWorkers(), holdfast.flow.lanes(), inspect.depths()])
  return {
    workers: workers.map(({ started, seen, silent, looked, leased, ...worker }) => ({
      ...worker,
      jobs: leased,
      started_at: new Date(started).toISOString(),
      seen_at: new Date(seen).toISOString(),
      silent_ms: Math.max(0, Math.round(silent)),
      looked_at: looked === null ? null : new Date(looked).toISOString(),
    })),
    lanes: lanes.map(laneAnswer),
    depths: depths.map(({ oldest, ...depth }) => ({ ...depth, oldest_ms: oldest === null ? null : Math.round(oldest) })),
  }
}

/** Every job type, its lane and its gate, in the words of the API. */
export async function typesAnswer(holdfast: Holdfast): Promise<TypeGateAnswer[]> {
  const [types, gates] = await Promise.all([insideOf(holdfast).store.types(null), holdfast.flow.gates()])
  const gateOf = new Map(gates.map((gate) => [gate.type, gateAnswer(gate)]))
  return types
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, lanename, sensitive }) => ({ type: name, lane: lanename, sensitive, gate: gateOf.get(name) ?? null }))
}
