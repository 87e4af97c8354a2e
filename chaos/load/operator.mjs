// A person on call who never rests, in a process of its own: changes lanes, limits and pauses, moves types between lanes, replays dead
// letters, gives jobs other priorities and lets through those that wait for approval, all beside full load. Its one argument is
// JSON: { url, ledger, seed, pauseMs, replays, holdfast }. No limit is ever raised above what load/types.mjs promises to the checker.

import { setTimeout as pause } from 'node:timers/promises'
import { Holdfast } from 'holdfast'
import { insideOf } from '../../dist/inside.js'
import { fingerprint } from '../evidence/fingerprint.mjs'
import { openLedger } from '../evidence/ledger.mjs'
import { pick, seeded } from '../seeded.mjs'
import { backoffMs } from './handler.mjs'
import { keys, lanes, types } from './types.mjs'

const { url, ledger, seed, pauseMs, replays, holdfast: options = {} } = JSON.parse(process.argv[2])
const { note, entries } = openLedger(ledger)
const random = seeded(seed)
const who = { by: 'ada', why: 'on call' }
const holdfast = new Holdfast({ connectionString: url, ...options })
const { flow, deadLetters } = holdfast
const awaiting = new Set()
const replayed = new Set()
let calls = 0
let stopping = false
process.on('SIGTERM', () => {
  stopping = true
})
process.on('disconnect', () => process.exit(1))

const upTo = (most) => 1 + Math.floor(random() * most)
const acknowledged = (fits) => entries().filter((entry) => entry.kind === 'acknowledged' && fits(entry))

const acts = {
  'change-lane': () => flow.setLane('narrow', { slots: upTo(lanes.narrow.slots) }, who),
  'drain-lane': () =>
    briefly(
      () => flow.drainLane('bulk', who),
      () => flow.resumeLane('bulk', who),
    ),
  'change-limit': () => flow.limit('two_at_once', { maxRunning: upTo(2) }, who),
  'change-rate': () => flow.limit('paced', { rate: { count: 4 + upTo(6), per: '1s' } }, who),
  'move-type': () => flow.moveType('work', pick(['default', 'bulk'], random), who),
  'pause-type': () => {
    const type = pick(['work', 'two_at_once', 'narrow', 'one_of_a_key'], random)
    return briefly(
      () => flow.pauseType(type, who),
      () => flow.resumeType(type, who),
    )
  },
  'pause-key': () => {
    const key = pick(keys, random)
    return briefly(
      () => flow.pauseKey('one_of_a_key', key, who),
      () => flow.resumeKey('one_of_a_key', key, who),
    )
  },
  async 'set-priority'() {
    const [job] = acknowledged(() => true).slice(-5)
    if (job) await holdfast.setPriority(job.job, Math.floor(random() * 10), who)
  },
  async replay() {
    // Each once, and by one of us: the checker allows a job all its attempts a second time.
    const dead = acknowledged(({ ends, job }) => replays && ends === 'dead' && !replayed.has(job))
    const { job } = pick(dead.slice(0, 10), random) ?? {}
    if (!job || (await holdfast.job(job))?.status !== 'dead') return
    replayed.add(job)
    note({ kind: 'reviving', job })
    await deadLetters.replay(job, who)
  },
  async 'ask-for-approval'() {
    const call = `${process.pid}-${++calls}`
    const payload = { call, ms: 5 }
    note({ kind: 'asked', call, count: 1 })
    const { id: job, status } = await holdfast
      .enqueue(types.work, payload, { approval: true, maxAttempts: 20 })
      .catch((error) => {
        note({ kind: 'in_doubt', call, error: String(error.message) })
        throw error
      })
    awaiting.add(job)
    note({ kind: 'acknowledged', call, job, status, payload: fingerprint(payload), backoffMs })
  },
  approve: () => Promise.all([...awaiting].slice(0, 3).map(approve)),
}

async function approve(job) {
  await holdfast.approve(job, who)
  awaiting.delete(job)
}

/** Takes something away and gives it back, however often giving it back fails. */
async function briefly(begin, end) {
  try {
    await begin()
    await pause(random() * 300)
  } finally {
    await insist(end)
  }
}

async function insist(act) {
  while ((await act().then(() => true, () => false)) === false) await pause(200) // biome-ignore format: one thought
}

process.send({ question: 'ready' })
while (!stopping) {
  const name = pick(Object.keys(acts), random)
  // Through an outage an act fails; what it was about is as it was, or as it was to be, and the checker asks about that.
  await acts[name]().then(
    () => note({ kind: 'operated', act: name }),
    (error) => note({ kind: 'operated', act: name, error: String(error.message) }),
  )
  await pause(pauseMs * 2 * random())
}
// Every job that is held back by a person is let go, or it would wait for ever.
await insist(async () => {
  for (const type of Object.keys(types)) await flow.resumeType(type, who)
  for (const key of keys) await flow.resumeKey('one_of_a_key', key, who)
  await flow.resumeLane('bulk', who)
  for (const { id, status } of await held()) if (status === 'awaiting_approval') await holdfast.approve(id, who)
})
await holdfast.close()
process.exit(0)

/** Also those of a call whose answer was lost. */
async function held() {
  return insideOf(holdfast).store.database.withClient(async (client) => {
    return (await client.query(`select id::text, status from holdfast.jobs where status = 'awaiting_approval'`)).rows
  })
}
