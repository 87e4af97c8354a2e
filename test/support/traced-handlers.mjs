// A handler that says under which span it runs. Loaded by threads and processes, each with a context manager of its own.
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
// Not the whole package: every thread and process of an isolated type loads this file, and all of Holdfast takes 0.3 s of the processor.
import { defineType } from '../../dist/job/type.js'

context.setGlobalContextManager(new AsyncLocalStorageContextManager())

const say = async (_, { log }) => {
  await new Promise((resolve) => setTimeout(resolve, 1))
  log(trace.getSpanContext(context.active())?.spanId ?? 'none')
}

export const types = ['thread', 'process'].map((isolation) => defineType({ type: `say_${isolation}`, isolation, run: say }))
