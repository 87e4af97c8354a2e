import { type AnyJobType, defineType } from 'holdfast'
import type { RunContext } from '../../src/job/run-context.js'

/** A log nobody reads. */
export const quiet = { info() {}, warn() {}, error() {} }

/** A type called `work` that does what it is told. */
// biome-ignore lint/suspicious/noExplicitAny: what the payload is, each test knows
export function work(run: (payload: any, context: RunContext) => unknown = () => {}, options: object = {}): AnyJobType {
  return defineType({ type: 'work', limits: { breaker: false }, run, ...options })
}

/** Where the server of this run is. */
export function serverPort(): number {
  return Number(new URL(process.env.HOLDFAST_TEST_URL as string).port)
}
