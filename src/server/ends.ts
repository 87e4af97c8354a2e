import { setMaxListeners } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { FastifyRequest } from 'fastify'
import { insideOf } from '../inside.js'
import { toMilliseconds } from '../job/duration.js'
import { refused } from '../job/refused.js'
import type { WatchedRow } from '../store/rows.js'
import { callerOf } from './auth.js'
import type { Callers } from './callers.js'
import type { Reading } from './reading.js'
import { JobWatch } from './watch.js'
import { refuseIfNoLongerAllowed, whileAllowed } from './while-allowed.js'

type Watching = (row: WatchedRow | undefined) => void

const longestWaitMs = 60_000

/** How long a request wants to wait. */
export function waitOf(timeout: string | undefined): number {
  const ms = toMilliseconds(timeout, 'timeout')
  if (ms > longestWaitMs) throw refused('timeout', 'is too long; it must be at most 60s')
  return ms
}

/** What requests wait for: the ends of jobs and executions. */
export class Ends {
  readonly watch: JobWatch
  readonly callers: Callers
  /** Fires when the server closes: it waits for its answers, and these would never end. */
  readonly closing: AbortSignal

  constructor({ reader, watches }: Reading, callers: Callers, closing: AbortSignal) {
    this.watch = new JobWatch(insideOf(reader).store.inspect, watches)
    this.callers = callers
    this.closing = closing
    setMaxListeners(0, closing)
  }

  /** Resolves when it has ended, when the time is over, or when the server closes. Refused where the caller may no longer ask by then. */
  async wait(
    request: FastifyRequest,
    response: ServerResponse,
    id: string,
    ms: number,
    isEnded: (status: string) => boolean,
  ): Promise<void> {
    const done = new AbortController()
    const forget = whileAllowed(request, this.callers, () => done.abort())
    const begin = (tell: Watching) => this.watch.watch(id, callerOf(request).service, tell)
    await untilEnded(begin, ms, response, [this.closing, done.signal], isEnded).finally(forget)
    await refuseIfNoLongerAllowed(request, this.callers)
  }
}

function untilEnded(
  begin: (tell: Watching) => () => void,
  ms: number,
  response: ServerResponse,
  enough: readonly AbortSignal[],
  isEnded: (status: string) => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(done, ms)
    let stop = () => {}
    function done(): void {
      clearTimeout(timer)
      response.off('close', done)
      for (const signal of enough) signal.removeEventListener('abort', done)
      stop()
      resolve()
    }
    response.on('close', done)
    for (const signal of enough) signal.addEventListener('abort', done)
    // It may have begun to close while the row was looked up.
    if (enough.some(({ aborted }) => aborted)) return done()
    try {
      stop = begin((row) => {
        if (!row || isEnded(row.status)) done()
      })
    } catch (error) {
      // Before it ends, so that a refused caller is not answered as if the timeout had passed.
      reject(error)
      done()
    }
  })
}
