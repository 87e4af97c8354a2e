import { number, text, textOrNull, timeOrNull, why, yesOrNo } from './common.js'
import { answer, list, type Of, object } from './schema.js'

export const sessionBody = object({ key: { type: 'string', minLength: 1, maxLength: 500, description: 'a key' } }, ['key'])
export type SessionBody = Of<typeof sessionBody>
export const sessionWaysAnswer = answer({ key: yesOrNo, oidc: yesOrNo })
export const sessionAnswer = answer({
  service: text,
  permissions: list(text),
  types: { anyOf: [list(text), { type: 'null' }] },
  ends_at: timeOrNull,
  trace_url: { ...textOrNull, description: 'where the trace of a job is looked at, with {trace} for its id' },
})

export const sessionsQuery = object(
  { person: { type: 'string', minLength: 1, maxLength: 200, description: 'as in the audit log: person:ada@example.com' }, why },
  ['person'],
)
export const endedAnswer = answer({ person: text, ended: number })
/** How many sessions of a person were ended. */
export type EndedAnswer = Of<typeof endedAnswer>
