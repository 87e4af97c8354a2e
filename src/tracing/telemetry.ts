import nodeModule from 'node:module'
import type * as Api from '@opentelemetry/api'
import { monotonicMs } from '../clock.js'
import { codeFiles } from '../code-files.js'
import type { ClaimedJob } from '../job/claimed.js'
import type { Outcome } from '../job/outcome.js'
import { version } from '../version.js'
import { readTraceparent, type SpanName, writeTraceparent } from './traceparent.js'

type OpenTelemetry = typeof Api

/** What is asked of a job that is about to be stored. */
interface Traceable {
  readonly id: string
  readonly type: string
  traceparent: string | null
}

/** Where the API package keeps what was registered with it. That it is there says that the package was loaded, by the program. */
const registered = Symbol.for('opentelemetry.js.api.1')

let loaded: Telemetry | null | undefined

/**
 * Spans and metrics, where the program has registered something that takes them; null elsewhere, for the price of this look.
 * The API package is loaded by nobody else: a program without OpenTelemetry neither needs nor loads it.
 */
export function telemetry(): Telemetry | null {
  if (!(registered in globalThis)) return null
  if (loaded === undefined) loaded = load()
  return loaded
}

function load(): Telemetry | null {
  try {
    return new Telemetry(nodeModule.createRequire(codeFiles[0] as string)('@opentelemetry/api') as OpenTelemetry)
  } catch {
    // Registered by a copy that stands out of our reach: somebody else's, so nobody waits for spans of ours.
    return null
  }
}

const always = { 'messaging.system': 'holdfast' }

class Telemetry {
  readonly #api: OpenTelemetry
  #meters: Api.MeterProvider | undefined
  #instruments: { sent: Api.Counter; sending: Api.Histogram; attempts: Api.Histogram } | undefined

  constructor(api: OpenTelemetry) {
    this.#api = api
  }

  /** Stores jobs under a span, which they name from there on; one that came with another trace keeps that. */
  async enqueue<Answer>(jobs: readonly Traceable[], store: () => Promise<Answer>): Promise<Answer> {
    const { trace, context, SpanKind } = this.#api
    const types = [...new Set(jobs.map((job) => job.type))]
    const about = {
      ...always,
      'messaging.operation.name': 'enqueue',
      'messaging.operation.type': 'send',
      ...(types.length === 1 ? { 'messaging.destination.name': types[0] as string } : {}),
    }
    const only = jobs.length === 1 ? { 'messaging.message.id': jobs[0]?.id } : { 'messaging.batch.message_count': jobs.length }
    const parent = this.#askedFor(jobs)
    const span = this.#tracer.startSpan(
      'holdfast.enqueue',
      { kind: SpanKind.PRODUCER, attributes: { ...about, ...only } },
      parent,
    )
    const name = nameOf(span)
    for (const job of jobs) {
      const own = readTraceparent(job.traceparent)
      if (name && (!own || own.traceId === name.traceId)) job.traceparent = writeTraceparent(name)
    }
    const begun = monotonicMs()
    let failed = {}
    try {
      return await context.with(trace.setSpan(parent, span), store)
    } catch (error) {
      failed = { 'error.type': (error as { code?: string })?.code ?? 'unknown' }
      this.#fail(span, error as Error)
      throw error
    } finally {
      span.setAttributes(failed)
      span.end()
      const { sent, sending } = this.#metrics()
      sent.add(jobs.length, { ...about, ...failed })
      sending.record((monotonicMs() - begun) / 1000, { ...about, ...failed })
    }
  }

  /** One attempt at a job, under the span that asked for it: the first and every later one alike. */
  attempt(job: ClaimedJob): AttemptTrace {
    const { trace, context, SpanKind, ROOT_CONTEXT } = this.#api
    const about = {
      ...always,
      'messaging.operation.name': 'attempt',
      'messaging.operation.type': 'process',
      'messaging.destination.name': job.type.type,
    }
    const attributes = {
      ...about,
      'messaging.message.id': job.id,
      'holdfast.job.attempt': job.attempt,
      'holdfast.job.max_attempts': job.maxAttempts,
    }
    const parent = this.#under(job.traceparent)
    const span = this.#tracer.startSpan('holdfast.attempt', { kind: SpanKind.CONSUMER, attributes }, parent)
    const begun = monotonicMs()
    const name = nameOf(span)
    const inside = trace.setSpan(parent, span)
    const end = (how: string, failure?: Error) => {
      const facts = { 'holdfast.outcome': how, ...(failure ? { 'error.type': failure.name } : {}) }
      span.setAttributes(facts)
      if (failure) this.#fail(span, failure)
      span.end()
      this.#metrics().attempts.record((monotonicMs() - begun) / 1000, { ...about, ...facts })
    }
    return {
      traceparent: name ? writeTraceparent(name) : null,
      run: (start) => context.with(inside, start),
      lost: () => end('lease_lost', { name: 'LeaseLostError', message: 'the lease of this attempt is gone' }),
      end: (outcome, then) => {
        end(outcome.kind, 'failure' in outcome ? outcome.failure : undefined)
        context.with(ROOT_CONTEXT, then)
      },
    }
  }

  /** Runs code under a span that was begun in another thread or process. */
  inside(traceparent: string | null | undefined, code: () => void): void {
    this.#api.context.with(this.#under(traceparent), code)
  }

  get #tracer(): Api.Tracer {
    return this.#api.trace.getTracer('holdfast', version)
  }

  /** The span that is active, unless the jobs came with the name of one in another trace. */
  #askedFor(jobs: readonly Traceable[]): Api.Context {
    const { trace, context } = this.#api
    const active = context.active()
    const [first] = jobs
    const given = jobs.every((job) => job.traceparent === first?.traceparent) ? readTraceparent(first?.traceparent) : undefined
    return !given || trace.getSpanContext(active)?.traceId === given.traceId ? active : this.#under(first?.traceparent, active)
  }

  #under(traceparent: string | null | undefined, context: Api.Context = this.#api.ROOT_CONTEXT): Api.Context {
    const name = readTraceparent(traceparent)
    return name ? this.#api.trace.setSpanContext(context, { ...name, isRemote: true }) : context
  }

  #fail(span: Api.Span, { name, message, stack }: Error): void {
    span.recordException({ name, message, ...(stack === undefined ? {} : { stack }) })
    span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message })
  }

  /** Made anew where another provider was registered since: an instrument made before that counts for nobody. */
  #metrics() {
    const meters = this.#api.metrics.getMeterProvider()
    if (this.#instruments && meters === this.#meters) return this.#instruments
    const meter = meters.getMeter('holdfast', version)
    const count = (name: string, description: string) => meter.createCounter(name, { unit: '{message}', description })
    const time = (name: string, description: string) => meter.createHistogram(name, { unit: 's', description })
    this.#meters = meters
    this.#instruments = {
      sent: count('messaging.client.sent.messages', 'Jobs that were handed in'),
      sending: time('messaging.client.operation.duration', 'How long an enqueue took'),
      attempts: time('messaging.process.duration', 'How long an attempt took'),
    }
    return this.#instruments
  }
}

export type { Telemetry }

/** The span of one attempt. */
export interface AttemptTrace {
  readonly traceparent: string | null
  /** Runs what belongs under the span. */
  run(start: () => void): void
  /** Ends the span; what the worker does then is under it no more. */
  end(outcome: Outcome, then: () => void): void
  lost(): void
}

/** Nothing where spans are made by nobody and no other was above. */
function nameOf(span: Api.Span): SpanName | undefined {
  return readTraceparent(writeTraceparent(span.spanContext()))
}
