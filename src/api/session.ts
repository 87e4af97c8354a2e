import { text, timeOrNull } from './common.js'
import { answer, list, type Of, object } from './schema.js'

export const sessionBody = object({ key: { type: 'string', minLength: 1, maxLength: 500, description: 'a key' } }, ['key'])
export type SessionBody = Of<typeof sessionBody>
export const sessionAnswer = answer({
  service: text,
  permissions: list(text),
  types: { anyOf: [list(text), { type: 'null' }] },
  ends_at: timeOrNull,
})
