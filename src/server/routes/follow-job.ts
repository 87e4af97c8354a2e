import type { FastifyInstance } from 'fastify'
import { jobParams } from '../../api/common.js'
import { jobAnswer, waitQuery } from '../../api/jobs.js'
import { sleep } from '../../clock.js'
import { HoldfastError } from '../../errors.js'
import type { Holdfast } from '../../holdfast.js'
import { insideOf } from '../../inside.js'
import type { WatchedRow } from '../../store/rows.js'
import { callerOf } from '../auth.js'
import { type Ends, waitOf } from '../ends.js'
import type { Reading } from '../reading.js'
import { headersOver } from '../security-headers.js'
import { EventStream } from '../sse.js'
import { whileAllowed } from '../while-allowed.js'
import { storyAnswer } from './job-answers.js'
import { visibleJob } from './one-job.js'

interface OneJob {
  Params: { id: string }
}

/** A worker writes log lines a few times a second, the last ones after the end of the job. */
const lastWordsMs = 2_000
/** The statuses in which nothing more happens by itself. */
const ended = new Set(['completed', 'cancelled', 'dead', 'discarded'])

/** Routes to wait for a job and to follow it while it runs. */
export function followJobRoutes(app: FastifyInstance, { reader: holdfast }: Reading, ends: Ends): void {
  const { watch, callers, closing } = ends

  app.get<OneJob & { Querystring: { timeout?: string } }>(
    '/jobs/:id/wait',
    {
      exposeHeadRoute: false,
      schema: {
        summary: 'Wait until a job has ended, or for a time; answers with the job either way',
        params: jobParams,
        querystring: waitQuery,
        response: { 200: jobAnswer },
      },
    },
    async (request, reply) => {
      const ms = waitOf(request.query.timeout)
      const { id, status } = await visibleJob(holdfast, request)
      if (!ended.has(status)) await ends.wait(request, reply.raw, id, ms, (now) => ended.has(now))
      return reply.header('cache-control', 'no-store').send(storyAnswer(await visibleJob(holdfast, request)))
    },
  )

  app.get<OneJob>(
    '/jobs/:id/stream',
    {
      exposeHeadRoute: false,
      schema: { summary: 'What happens to a job, as server-sent events: status, progress, log, end', params: jobParams },
    },
    async (request, reply) => {
      const after = lastLine(request.headers['last-event-id'])
      const { id } = await visibleJob(holdfast, request)
      let follower: Follower | undefined
      // Before the answer begins, so that too many watchers are answered with a problem.
      const stop = watch.watch(id, callerOf(request).service, (row) => follower?.tell(row))
      reply.hijack()
      const stream = new EventStream(reply.raw, headersOver(request.protocol))
      follower = new Follower(holdfast, id, stream, after)
      const end = () => stream.close()
      closing.addEventListener('abort', end)
      const forget = whileAllowed(request, callers, () => stream.end({ code: 'unauthorized' }))
      stream.whenClosed(() => {
        stop()
        forget()
        closing.removeEventListener('abort', end)
      })
      // It may have begun to close while the job was looked up.
      if (closing.aborted) end()
    },
  )
}

/** Browsers send back the last id they saw, so that nothing is missed between two connections. */
function lastLine(header: string | string[] | undefined): string {
  if (header === undefined || header === '') return '0'
  if (typeof header === 'string' && /^\d{1,18}$/.test(header)) return header
  throw new HoldfastError('invalid_option', 'Last-Event-ID must be the id of an event', { field: 'last-event-id' })
}

/** Follows one job for one client: turns changes into events, in order. Log lines have their id, so that the client can resume. */
class Follower {
  readonly #holdfast: Holdfast
  readonly #id: string
  readonly #stream: EventStream
  #line: string
  #status = ''
  #progress = ''
  #telling = Promise.resolve()

  constructor(holdfast: Holdfast, id: string, stream: EventStream, line: string) {
    this.#holdfast = holdfast
    this.#id = id
    this.#stream = stream
    this.#line = line
  }

  tell(row: WatchedRow | undefined): void {
    // A client that is disconnected reconnects with the last id and misses nothing.
    this.#telling = this.#telling.then(() => this.#send(row)).catch(() => this.#stream.close())
  }

  async #send(row: WatchedRow | undefined): Promise<void> {
    if (!row) return this.#stream.end({ status: 'unknown' })
    const { status, attempt, fraction, note, progressed } = row
    await this.#sendLines(row.line)
    const progress = fraction === null ? '' : JSON.stringify({ fraction, note, at: new Date(progressed ?? 0) })
    if (progress !== this.#progress) this.#stream.send('progress', progress)
    this.#progress = progress
    if (`${status} ${attempt}` !== this.#status) this.#stream.send('status', JSON.stringify({ status, attempt }))
    this.#status = `${status} ${attempt}`
    if (ended.has(status)) await this.#sayGoodbye(status)
  }

  async #sayGoodbye(status: string): Promise<void> {
    await sleep(lastWordsMs, { unref: true })
    const [row] = await insideOf(this.#holdfast).store.inspect.watched([this.#id])
    if (row) await this.#sendLines(row.line)
    this.#stream.end({ status })
  }

  async #sendLines(upTo: string): Promise<void> {
    while (BigInt(this.#line) < BigInt(upTo) && !this.#stream.closed) {
      const lines = await this.#holdfast.log(this.#id, { after: this.#line })
      for (const { id, ...line } of lines) this.#stream.send('log', JSON.stringify(line), id)
      const last = lines.at(-1)
      if (!last) return
      this.#line = last.id
    }
  }
}
