// Handlers that return what their payload says, in the worker, in a thread and in a process.
// Not the whole package: every thread and process of an isolated type loads this file, and all of Holdfast takes 0.3 s of the processor.
import { defineType } from '../../dist/job/type.js'

const answers = {
  value: ({ value }) => value,
  nothing() {},
  tooLarge: ({ bytes }) => 'x'.repeat(bytes),
  circular() {
    const result = {}
    result.self = result
    return result
  },
  date: () => ({ at: new Date(0) }),
  bigint: () => ({ list: [1n] }),
  envelope: () => ({ $enc: {} }),
}
const run = (payload) => answers[payload.what](payload)
const small = { memory: 64, atOnce: 1 }

export const types = [
  defineType({ type: 'returns_inline', run }),
  defineType({ type: 'returns_thread', isolation: 'thread', ...small, run }),
  defineType({ type: 'returns_process', isolation: 'process', ...small, run }),
  defineType({ type: 'returns_much', maxResultBytes: 200_000, run }),
  defineType({ type: 'returns_for_nobody', keepResult: false, run }),
]
