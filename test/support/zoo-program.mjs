/**
 * A worker whose handlers do everything a handler should not. The payload names the act. Its one argument is JSON:
 * { database, timeout, listens }. Results and events go to standard output, one JSON line each.
 */
import { connect, createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { defineType, Holdfast } from 'holdfast'
import { startWorker } from 'holdfast/worker'

const { database, timeout = '1m', listens = false } = JSON.parse(process.argv[2])
const say = (event, fields = {}) => process.stdout.write(`${JSON.stringify({ event, ...fields })}\n`)

/** A Proxy of which nothing can be asked: every trap throws what `thrown` makes. */
function hostile(thrown) {
  const traps = new Proxy({}, { get: () => () => { throw thrown() } }) // biome-ignore format: one thought
  return new Proxy(() => {}, traps)
}

function circular() {
  const error = new Error('an error that holds itself')
  error.self = error
  error.cause = error
  return error
}

async function withSocket() {
  const server = createServer().listen(0)
  await new Promise((resolve) => server.once('listening', resolve))
  const socket = connect(server.address().port)
  await new Promise((resolve) => socket.once('connect', resolve))
  setTimeout(() => [socket.destroy(), server.close()], 1_000).unref()
  return Object.assign(new Error('an error that holds a socket'), { socket, code: 'ESOCKET' })
}

const thrown = {
  undefined: () => undefined,
  null: () => null,
  zero: () => 0,
  text: () => 'a plain text',
  symbol: () => Symbol('a symbol'),
  bigint: () => 10n ** 60n,
  function: () => () => {},
  frozen: () => Object.freeze({ reason: 'frozen' }),
  withoutPrototype: () => Object.create(null),
  proxy: () => hostile(() => new Error('the trap threw')),
  'proxy of proxies': () => hostile(() => hostile(() => new Error('the inner trap threw'))),
  'hostile fields': () => Object.defineProperty(new Error(), 'message', { get() { throw new Error('no') } }), // biome-ignore format: one thought
  '50 MB': () => new Error('m'.repeat(50_000_000)),
  '10 MB of stack': () => Object.assign(new Error('with a long stack'), { stack: 's'.repeat(10_000_000) }),
  nul: () => new Error('with \0 and half a pair \ud800 in it'),
  circular,
}

const answers = {
  '200 MB': () => Buffer.alloc(200_000_000),
  circular,
  bigint: () => 2n ** 70n,
  function: () => () => {},
  symbol: () => Symbol('an answer'),
  'hostile fields': () => ({ get toJSON() { throw new Error('no') } }), // biome-ignore format: one thought
}

const acts = {
  async throws({ what }) {
    throw what === 'socket' ? await withSocket() : thrown[what]()
  },
  returns: ({ what }) => answers[what](),
  never: () => new Promise(() => {}),
  async floating({ what }) {
    void Promise.reject(thrown[what]())
    await pause(60_000, undefined, { ref: false })
  },
  floatingAfterwards() {
    void pause(50).then(() => { throw new Error('nobody waited for this') }) // biome-ignore format: one thought
  },
  async timer({ what }) {
    setTimeout(() => { throw thrown[what]() }, 5) // biome-ignore format: one thought
    await pause(60_000, undefined, { ref: false })
  },
  async abortListener(_payload, { signal }) {
    signal.addEventListener('abort', () => { throw new Error('the abort listener threw') }) // biome-ignore format: one thought
    await new Promise(() => {})
  },
  snooze: ({ times }, { snooze, job }) => {
    snoozed.set(job.id, (snoozed.get(job.id) ?? 0) + 1)
    say('ran', { job: job.id, attempt: job.attempt })
    return snoozed.get(job.id) <= times ? snooze('50ms') : undefined
  },
  ordinary: () => {},
}
const snoozed = new Map()

const zoo = defineType({
  type: 'zoo',
  maxAttempts: 1,
  timeout,
  limits: { breaker: false },
  run: (payload, context) => acts[payload.act](payload, context),
})
const holdfast = new Holdfast({ connectionString: database })
const worker = await startWorker(holdfast, [zoo], {
  concurrency: 4,
  lease: '10s',
  unsafe: true,
  handleSignals: true,
  poll: '100ms',
})
for (const name of ['job.overran', 'job.escaped', 'settle.late']) worker.events.on(name, (fields) => say(name, fields))

// Errors of the program itself, which belong to no handler.
process.on('SIGUSR2', () => void Promise.reject(new Error('a rejection of the program itself')))
process.on('SIGWINCH', () => { throw new Error('an exception of the program itself') }) // biome-ignore format: one thought
// An opinion of its own about rejections, and none about exceptions.
if (listens) process.on('unhandledRejection', () => say('heard a rejection'))
say('ready', { worker: worker.id })
