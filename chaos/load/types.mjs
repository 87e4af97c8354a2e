// The types of a campaign, for those who enqueue and those who run them, with what their limits promise to the checker.
import { defineType } from 'holdfast'
import { backoffFor, backoffMs } from './handler.mjs'

/** No breaker: what faults do to a whole fleet would open it, and then the campaign would wait for its probes. */
const common = { backoff: backoffFor(backoffMs) }
const without = { breaker: false }

export const definitions = [
  { type: 'work', limits: without },
  { type: 'two_at_once', limits: { maxRunning: 2, ...without } },
  { type: 'one_of_a_key', limits: { maxRunningPerKey: 1, ...without } },
  { type: 'paced', limits: { rate: { count: 10, per: '1s' }, ...without } },
  { type: 'narrow', lane: 'narrow', limits: without },
  { type: 'apart', isolation: 'process', atOnce: 1, limits: without },
].map((definition) => ({ ...common, ...definition }))

export const types = Object.fromEntries(definitions.map((definition) => [definition.type, defineType(definition)]))

/** Lanes are made by operators, not by definitions. */
export const lanes = { narrow: { slots: 3 } }
export const keys = ['a', 'b', 'c']

export const promises = {
  limits: { 'type two_at_once': 2, 'lane narrow': 3, ...Object.fromEntries(keys.map((key) => [`key ${key}`, 1])) },
  // A start is counted at the claim and judged at the handler: on a busy machine the way between them takes part of the second.
  rates: { 'rate paced': { count: 10, perMs: 500 } },
}
