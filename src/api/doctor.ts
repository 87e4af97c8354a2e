import { duration, text } from './common.js'
import { answer, list, type Of, object } from './schema.js'

export const doctorQuery = object({
  transaction: { ...duration, type: 'string', description: 'how long a transaction may be open, such as "5m"' },
})
/** From where on `GET /doctor` finds fault. */
export type DoctorQuery = Of<typeof doctorQuery>

export const doctorAnswer = answer({
  verdict: { enum: ['fine', 'warnings', 'errors'] },
  findings: list(
    answer({
      code: text,
      severity: { enum: ['error', 'warning', 'note'] },
      message: text,
      evidence: list(text),
      remedy: text,
    }),
  ),
  checked: list(text),
})
/** What a check-up found, the worst first, and what it looked at. */
export type DoctorAnswer = Of<typeof doctorAnswer>
