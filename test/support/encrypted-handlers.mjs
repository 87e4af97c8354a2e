// Handlers of encrypted types in a thread and in a process, which have no keys: they say what they were given.
// Not the whole package: every thread and process of an isolated type loads this file, and all of Holdfast takes 0.3 s of the processor.
import { defineType } from '../../dist/job/type.js'

const say = ({ word }, { log }) => log(`got ${word.length} characters: ${word}`)

export const types = ['thread', 'process'].map((isolation) =>
  defineType({ type: `encrypted_${isolation}`, isolation, encrypt: true, redact: ['word'], run: say }),
)
