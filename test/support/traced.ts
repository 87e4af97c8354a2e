import { context, metrics, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { onTestFinished } from 'vitest'

/** OpenTelemetry as a program sets it up, with everything kept in memory; taken down when the test ends. */
export function startTracing() {
  const spans = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] })
  trace.setGlobalTracerProvider(provider)
  context.setGlobalContextManager(new AsyncLocalStorageContextManager())
  const numbers = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter: numbers, exportIntervalMillis: 3_600_000 })
  const meters = new MeterProvider({ readers: [reader] })
  metrics.setGlobalMeterProvider(meters)
  onTestFinished(async () => {
    for (const api of [trace, context, metrics]) api.disable()
    await Promise.all([provider.shutdown(), meters.shutdown()])
  })
  return {
    named: (name: string): ReadableSpan[] => spans.getFinishedSpans().filter((span) => span.name === name),
    async metrics() {
      await reader.forceFlush()
      const all =
        numbers
          .getMetrics()
          .at(-1)
          ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? []
      return new Map(all.map(({ descriptor, dataPoints }) => [descriptor.name, { unit: descriptor.unit, dataPoints }]))
    },
  }
}

export const traceparentOf = (span: ReadableSpan) => `00-${span.spanContext().traceId}-${span.spanContext().spanId}-01`
