// A steady load and how much of it is done, second by second: what a disturbance costs shows against the same load without.
import { setTimeout as pause } from 'node:timers/promises'
import { defineType, Holdfast } from 'holdfast'
import { now } from '../evidence/ledger.mjs'

const type = defineType({ type: 'steady' })

/**
 * Enqueues so many jobs a second until it is stopped, and goes on where it was when the database has been away: jobs that
 * could not be enqueued in their second are enqueued later.
 */
export function startLoad(url, perSecond) {
  const holdfast = new Holdfast({ connectionString: url, statementTimeout: '3s', connections: 4 })
  const stats = { acknowledged: 0, failed: 0, offered: 0 }
  const begun = now()
  let factor = 1
  let owed = 0
  let last = begun
  let stopping = false
  const running = (async () => {
    while (!stopping) {
      const at = now()
      const due = ((at - last) / 1000) * perSecond * factor
      owed += due
      stats.offered += due
      last = at
      const count = Math.min(500, Math.floor(owed))
      if (count > 0) {
        const done = await holdfast.enqueueMany(Array.from({ length: count }, () => type.job({ text: 'x'.repeat(100) }))).then(
          () => true,
          () => false,
        )
        if (done) {
          stats.acknowledged += count
          owed -= count
        } else stats.failed += 1
      }
      await pause(20)
    }
    await holdfast.close()
  })()
  return {
    stats,
    /** How many jobs should have been enqueued by now and have not been. */
    get owed() {
      return owed
    },
    /** So many times the load from now on. */
    press(times) {
      factor = times
    },
    async stop() {
      stopping = true
      await running
    },
  }
}
