// A process of its own for the HTTP row: the server, or the load on it, as the parent asks. Ends when the parent does.
import { randomBytes } from 'node:crypto'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { Holdfast } from '../dist/index.js'
import { createServer } from '../dist/server/index.js'
import { answerCalls } from './answering.mjs'
import { percentile } from './figures.mjs'
import { prepare } from './systems/holdfast.mjs'
import { makePayload } from './systems/payload.mjs'

const { url } = JSON.parse(process.argv[2])
const silent = { info() {}, warn() {}, error: console.error }
let closing = async () => {}
const delay = monitorEventLoopDelay({ resolution: 1 })

const calls = {
  prepare: () => prepare(url),

  /** The server as `holdfast up` has it, with the key of a service: its jobs have an owner and its requests are counted. */
  async serve() {
    const holdfast = new Holdfast({ connectionString: url })
    const { key } = await holdfast.access.createKey(
      { service: 'bench', roles: ['producer', 'worker'], rateLimit: 1_000_000 },
      { by: 'the bench' },
    )
    const server = createServer(holdfast, { adminKey: randomBytes(24).toString('hex'), logger: silent })
    const address = await server.listen({ host: '127.0.0.1', port: 0 })
    closing = async () => {
      await server.close()
      await holdfast.close()
    }
    return { address, key }
  },

  /** So many requests a second for so long; or, without a rate, one after the other. */
  async load({ address, key, rate, seconds, jobs }) {
    // Only here: whoever looks at the rows need not have it.
    const { default: autocannon } = await import('autocannon')
    const job = { type: 'bench', payload: makePayload() }
    const times = []
    const running = autocannon({
      url: address + (jobs ? '/jobs/bulk' : '/jobs'),
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(jobs ? { jobs: Array(jobs).fill(job) } : job),
      duration: seconds,
      // It sends what belongs to a second at its beginning, so many at once: harder than an even rate.
      connections: rate ? 10 : 1,
      ...(rate ? { overallRate: rate } : {}),
    })
    running.on('response', (_client, _status, _bytes, ms) => times.push(ms))
    const { non2xx, errors, timeouts, duration } = await running
    if (non2xx + errors + timeouts > 0 || times.length === 0) {
      throw new Error(`${times.length} answers, ${non2xx} of them refusals; ${errors} errors, ${timeouts} timeouts`)
    }
    // From the times themselves: its own percentiles are whole milliseconds, and under a rate it adds requests that were never
    // meant to be sent, one for every millisecond that an answer took. That the rate was kept is the caller's to look at.
    return { p50: percentile(times, 0.5), p99: percentile(times, 0.99), rate: times.length / duration }
  },

  /** Bodies that take the longest to read or to refuse, each as large as is taken, one after the other. */
  async worst({ address, key, times }) {
    const most = 8_000_000
    const named = (count) => `{${Array.from({ length: count }, (_, n) => `"name ${n}":${n}`).join()}}`
    const bodies = [
      '['.repeat(most),
      `[${'1,'.repeat(most / 2)}1]`,
      named(190_000),
      named(39_900),
      JSON.stringify({ jobs: Array.from({ length: 120 }, () => ({ type: 'bench', payload: 'x'.repeat(64_000) })) }),
    ].map((body) => Buffer.from(body))
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    for (const body of Array(times).fill(bodies).flat()) {
      const answer = await fetch(`${address}/jobs/bulk`, { method: 'POST', headers, body })
      if (answer.status < 400 || answer.status >= 500) throw new Error(`${answer.status}: ${await answer.text()}`)
      await answer.text()
    }
  },

  /** A remote worker that does nothing with its jobs: so many loops claim, and end what they claimed. Answers with the milliseconds. */
  async workRemotely({ address, key, jobs, each, loops }) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const ask = async (path, body) => {
      const answer = await fetch(`${address}/worker/${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
      if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
      return answer.json()
    }
    const { worker } = await ask('register', { name: 'bench', types: ['bench'] })
    let left = jobs
    const loop = async () => {
      while (left > 0) {
        const { jobs: claimed } = await ask('claim', { worker, limit: each })
        left -= claimed.length
        const results = claimed.map(({ id, lease }) => ({ job: id, lease, result: 'complete', ran_ms: 0 }))
        if (results.length > 0) await ask('settle', { worker, results })
      }
    }
    const begun = performance.now()
    await Promise.all(Array.from({ length: loops }, loop))
    const ms = performance.now() - begun
    await ask('sign-off', { worker })
    return ms
  },

  /** From here on it is watched how long the loop stands still; asked again, it says the longest, in milliseconds. */
  stoodStill() {
    const longest = delay.max / 1e6
    delay.enable()
    delay.reset()
    return longest
  },

  close: () => closing(),
}

answerCalls(calls)
