// Deliberate defects, as they stood in real queues. Each is put in alone, and must be caught by the invariant it names.
import { defectsInEnds } from './defects-in-ends.mjs'
import { defectsInFlow } from './defects-in-flow.mjs'
import { defectsInKeys } from './defects-in-keys.mjs'
import { defectsInLongWork } from './defects-in-long-work.mjs'
import { defectsInSchedules } from './defects-in-schedules.mjs'
import { defectsInSql } from './defects-in-sql.mjs'
import { inModule, wrapping } from './patches.mjs'
import { cutAfterCommit, cutBeforeCommit, dueLater, longJob, lostListener, oldDay, quiet, rollback } from './stories.mjs'

const hourMs = 3_600_000

const defectsInCode = [
  {
    name: 'acknowledged-before-commit',
    caughtBy: 'I1',
    story: cutBeforeCommit,
    put: wrapping((_, { store }) => {
      const enqueue = store.enqueue.bind(store)
      store.enqueue = async (...call) => {
        enqueue(...call).catch(() => {})
        return new Map()
      }
    }),
  },
  {
    name: 'new-ids-at-every-try',
    caughtBy: 'I9',
    story: cutAfterCommit,
    put: wrapping((_, { store }) => {
      const enqueue = store.enqueue.bind(store)
      const asked = new Set()
      store.enqueue = (jobs, options) => {
        for (const job of jobs) {
          if (asked.has(job.id)) job.id = `${job.id.slice(0, -4)}${Math.random().toString(16).slice(2, 6)}`
          asked.add(job.id)
        }
        return enqueue(jobs, options)
      }
    }),
  },
  {
    name: 'callers-transaction-ignored',
    caughtBy: 'I9',
    story: rollback,
    put: wrapping((holdfast) => {
      const enqueueMany = holdfast.enqueueMany.bind(holdfast)
      holdfast.enqueueMany = (requests) => enqueueMany(requests)
    }),
  },
  {
    // The producer's clock is an hour behind; the database is told a time instead of a delay.
    name: 'due-by-the-application-clock',
    caughtBy: 'I15',
    story: dueLater,
    put: wrapping((_, { store }) => {
      const enqueue = store.enqueue.bind(store)
      store.enqueue = (jobs, options) => {
        for (const job of jobs) {
          if (job.delayMs !== null) job.runAt = new Date(Date.now() - hourMs + job.delayMs).toISOString()
          job.delayMs = null
        }
        return enqueue(jobs, options)
      }
    }),
  },
  {
    name: 'counts-without-the-dead',
    caughtBy: 'I19',
    story: quiet,
    put: inModule('store/inspect-store.js', "return this.#database.query(statement('countByStatus'), []);", "return (await this.#database.query(statement('countByStatus'), [])).filter((row) => row.status !== 'dead');"), // biome-ignore format: what becomes what
  },
  {
    name: 'connection-never-closed',
    caughtBy: 'I18',
    story: oldDay,
    put: wrapping((holdfast) => {
      holdfast.close = async () => {}
    }),
  },
  {
    name: 'listener-never-made-again',
    caughtBy: 'I14',
    story: lostListener,
    put: inModule('store/listener.js', 'await broken;', "await broken; await this.lent.close(); if (!this.#stop.signal.aborted) await new Promise((over) => this.#stop.signal.addEventListener('abort', over));"), // biome-ignore format: what becomes what
  },
  {
    name: 'heartbeat-that-renews-nothing',
    caughtBy: 'I6',
    story: longJob,
    put: inModule(
      'store/query-files.js',
      "greatest(l.expires_at, holdfast.now() + f.ms * interval '1 millisecond')",
      'l.expires_at',
    ),
  },
  {
    name: 'the-same-fence-for-every-attempt',
    caughtBy: 'I6',
    story: quiet,
    put: inModule('run/context.js', 'return BigInt(this.#attempt.job.lease);', 'return 1n;'),
  },
  {
    name: 'completed-without-running',
    caughtBy: 'I4',
    story: quiet,
    put: inModule('run/attempt.js', 'return this.job.type.run?.(payload, new AttemptContext(this));', 'return undefined;'),
  },
]

/** What a defect puts in is one patch, or several that are one defect together. Those that take longest come first. */
export const defects = [
  ...defectsInCode,
  ...defectsInSql,
  ...defectsInFlow,
  ...defectsInKeys,
  ...defectsInSchedules,
  ...defectsInLongWork,
  ...defectsInEnds,
].map((defect) => ({
  ...defect,
  patches: [defect.put].flat(),
}))

/** The stories as they are, and the stories with one defect in them. */
export const controls = [
  ...[...new Set(defects.map(({ story }) => story))].map((story) => ({ name: `controls/correct/${story.name}`, story })),
  ...defects.map((defect) => ({ ...defect, name: `controls/${defect.name}` })),
]
