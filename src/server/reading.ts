import type { FastifyRequest } from 'fastify'
import { monotonicMs } from '../clock.js'
import { HoldfastError } from '../errors.js'
import type { Holdfast } from '../holdfast.js'
import { insideOf } from '../inside.js'
import { Checker } from '../job/checker.js'
import { type Duration, toMilliseconds } from '../job/duration.js'
import { wholeNumber } from '../job/refused.js'
import { callerOf } from './auth.js'

/** The limits of requests that only read. */
export interface ReadingOptions {
  /**
   * The maximum of connections for reading.
   * @range 1 to 1,000
   * @default 4
   */
  connections?: number
  /**
   * How long the database may take for one query.
   * @range 0 to 1 day
   * @default '2s'
   */
  within?: Duration
  /**
   * How many streams and waits of one service may be open at once.
   * @range 1 to 1,000,000
   * @default 500
   */
  watches?: number
}

export function checkReading(options: ReadingOptions = {}): void {
  const { connections = 4, within = '2s', watches = 1 } = options
  const check = new Checker()
  check.known(options, ['connections', 'within', 'watches'], ['reading'])
  check.read(() => wholeNumber(connections, 'reading.connections', 1, 1_000), 1)
  const withinMs = check.read(() => toMilliseconds(within, 'reading.within'), 1)
  if (withinMs > 86_400_000) check.wrong('reading.within', 'must be at most a day')
  check.read(() => wholeNumber(watches, 'reading.watches', 1, 1_000_000), 1)
  check.done('invalid_configuration', 'the options of reading have problems')
}

/** One service uses at most two of the connections for reading, so that its queries do not delay those of others. */
const atOnce = 2
const mostInLine = 50
/** A second that the database spends on a service's lists counts as the requests of that many seconds. */
const priceOfTime = 4

/**
 * Reads about jobs over connections of their own. Lists and what else may be a little old go to the replica where there is one; a single job
 * does not, because whoever has just enqueued it asks for it. Lists and searches also queue per service, and count as requests of the caller
 * by the time they took: who sends expensive ones may send fewer.
 */
export class Reading {
  readonly reader: Holdfast
  /** For what may be a little old. */
  readonly lists: Holdfast
  readonly watches: number | undefined
  readonly #lines = new Map<string, { running: number; waiting: (() => void)[] }>()

  constructor(holdfast: Holdfast, { connections = 4, within = '2s', watches }: ReadingOptions = {}) {
    this.watches = watches
    const { forReading, hasReplica } = insideOf(holdfast)
    this.reader = forReading({ connections, within })
    this.lists = hasReplica ? forReading({ connections, within, replica: true }) : this.reader
  }

  async forCaller<Answer>(request: FastifyRequest, read: (reader: Holdfast) => Promise<Answer>): Promise<Answer> {
    const { service, rateLimit } = callerOf(request)
    await this.#turn(service)
    const begun = monotonicMs()
    try {
      return await read(this.lists)
    } finally {
      this.#done(service)
      request.known?.bucket?.spend(((monotonicMs() - begun) / 1_000) * rateLimit * priceOfTime)
    }
  }

  async close(): Promise<void> {
    await Promise.all([...new Set([this.reader, this.lists])].map((one) => one.close()))
  }

  async #turn(service: string): Promise<void> {
    const line = this.#lines.get(service) ?? { running: 0, waiting: [] }
    this.#lines.set(service, line)
    if (line.running < atOnce) {
      line.running += 1
      return
    }
    if (line.waiting.length >= mostInLine) {
      const problem = `${mostInLine} lists of ${service} wait already; the server reads at most ${atOnce} at once`
      throw new HoldfastError('rate_limited', problem, { retryAfterMs: 1_000 })
    }
    // A finished query passes its turn to the next in the queue, so that none jumps in between.
    await new Promise<void>((resolve) => line.waiting.push(resolve))
  }

  #done(service: string): void {
    const line = this.#lines.get(service)
    const next = line?.waiting.shift()
    if (!line || next) return next?.()
    line.running -= 1
    if (line.running === 0) this.#lines.delete(service)
  }
}
