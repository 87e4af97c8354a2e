// Handlers of encrypted types in a thread and in a process, which have no keys: they say what they were given.
import { defineType } from 'holdfast'

const say = ({ word }, { log }) => log(`got ${word.length} characters: ${word}`)

export const types = ['thread', 'process'].map((isolation) =>
  defineType({ type: `encrypted_${isolation}`, isolation, encrypt: true, redact: ['word'], run: say }),
)
