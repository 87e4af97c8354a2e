// What a job does in steps, and what it waits for. It stands in the payload, as everything else that a job of the bench does.
import { fingerprint } from '../evidence/fingerprint.mjs'
import { now } from '../evidence/ledger.mjs'

/**
 * A payload says, in this order: `steps` n (so many, every other one of them `once`, or with `once` all, and after the first of them `sleepMs` n), `stepGate`
 * (a name: the last step goes on when that gate is opened), `waits` n (for so many signals named "go").
 */
export async function longWork({ note, gates }, payload, context) {
  const { job, fence } = context
  const execution = { job: job.id, attempt: job.attempt, fence: String(fence), pid: process.pid }
  const step = async (n) => {
    const name = `step ${n}`
    const value = await context[payload.once || n % 2 === 0 ? 'once' : 'step'](name, async () => {
      note({ kind: 'step', ...execution, step: name })
      if (n === payload.steps) await gates.get(payload.stepGate)
      return { by: execution.fence, at: now() }
    })
    note({ kind: 'stepped', ...execution, step: name, value: fingerprint(value) })
  }
  for (let n = 1; n <= (payload.steps ?? 0); n++) {
    await step(n)
    if (n === 1 && payload.sleepMs) {
      note({ kind: 'sleeping', ...execution, ms: payload.sleepMs })
      await context.sleep(payload.sleepMs)
      note({ kind: 'woke', ...execution })
    }
  }
  for (let n = 1; n <= (payload.waits ?? 0); n++) {
    const value = await context.waitFor('go')
    note({ kind: 'received', ...execution, nth: n, value })
  }
}
