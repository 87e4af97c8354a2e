// A process of its own for one system: producer, worker or both, as the parent asks. Ends when the parent does.
import { setTimeout as pause } from 'node:timers/promises'
import { answerCalls } from './answering.mjs'
import { makePayload, makePayloads } from './systems/payload.mjs'

const { system: name, url } = JSON.parse(process.argv[2])
const system = await import(`./systems/${name}.mjs`)

/** The monotonic clock that all processes of a machine share. */
const now = () => Number(process.hrtime.bigint()) / 1e6

let producer
let worker
const seen = { firstAt: 0, lastAt: 0, handled: 0, settled: 0, latencies: [], timeline: [] }

const calls = {
  prepare: () => system.prepare(url),

  async openProducer({ connections = 2, ...options } = {}) {
    producer = await system.openProducer(url, { connections, ...options })
  },

  /** Stores that many, a thousand a call or whatever is asked. Answers with the milliseconds it took. */
  async fill({ jobs, each = 1000, how = 'many' }) {
    const begun = now()
    for (let left = jobs; left > 0; left -= each) await producer[how](makePayloads(Math.min(each, left)))
    return now() - begun
  },

  /** Stores them one by one, that many at once. Answers with the time of each and of all. */
  async singles({ count, atOnce }) {
    const payload = makePayload()
    const times = []
    let left = count
    const begun = now()
    const caller = async () => {
      while (left-- > 0) {
        const start = now()
        await producer.one(payload)
        times.push(now() - start)
      }
    }
    await Promise.all(Array.from({ length: atOnce }, caller))
    return { times, ms: now() - begun }
  },

  /** Stores one at a time with uneven rests, so that no rhythm of a worker falls together with it. */
  async trickle({ count }) {
    for (let i = 0; i < count; i++) {
      await producer.one(makePayload(now()))
      await pause(15 + Math.random() * 20)
    }
  },

  /** Stores as fast as it can until told to stop, but never more than `allow` ahead of what has been settled. */
  async produce({ each = 500, callers = 2, ahead }) {
    producing = { stopped: false, allowed: ahead, sent: 0, ahead }
    const caller = async () => {
      while (!producing.stopped) {
        if (producing.sent + each > producing.allowed) await pause(1)
        else {
          producing.sent += each
          await producer.many(makePayloads(each))
        }
      }
    }
    await Promise.all(Array.from({ length: callers }, caller))
    return producing.sent
  },
  allow({ settled }) {
    producing.allowed = settled + producing.ahead
  },
  stopProducing() {
    producing.stopped = true
  },

  /** With `watch` false nothing is noted: a timer of ours would be most of what an idle worker does. `lookMs`: how often it notes how far it is. */
  async work({ watch = true, lookMs = 5, ...options } = {}) {
    worker = await system.startWorker(url, options, (payload) => {
      if (seen.handled++ === 0) seen.firstAt = now()
      if (payload?.sentAt) seen.latencies.push(now() - payload.sentAt)
    })
    if (watch) look(lookMs)
  },
  /** What was done until now was to get warm. */
  forget() {
    before = worker.settled()
    Object.assign(seen, { firstAt: 0, lastAt: 0, handled: 0, settled: 0, latencies: [], timeline: [] })
  },
  /** Where it stands; times by the clock all processes share. */
  progress: () => ({ firstAt: seen.firstAt, lastAt: seen.lastAt, settled: seen.settled, cpuMs: cpuMs() }),
  seen: () => ({ ...seen, cpuMs: cpuMs(), now: now() }),
  usage: () => ({ cpuMs: cpuMs(), rss: process.memoryUsage.rss() }),

  async close() {
    await worker?.stop()
    await producer?.close()
  },
}
let producing
let before = 0

/** Notes how far it is every so often, and every 100 ms for the record. */
function look(everyMs) {
  const settled = worker.settled() - before
  if (settled > seen.settled) {
    seen.settled = settled
    seen.lastAt = now()
  }
  if (now() - (seen.timeline.at(-1)?.at ?? 0) >= 100) {
    seen.timeline.push({ at: now(), settled, rss: process.memoryUsage.rss() })
  }
  setTimeout(look, everyMs, everyMs)
}

function cpuMs() {
  const { user, system: kernel } = process.cpuUsage()
  return (user + kernel) / 1000
}

answerCalls(calls)
