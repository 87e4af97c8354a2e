import { HoldfastError } from '../errors.js'
import type { AnyJobType } from './type.js'

/** Refuses a payload that does not fit the schema of its definition, naming every place. */
export async function checkAgainstSchema(definition: AnyJobType, payload: unknown): Promise<void> {
  const result = await definition.schema?.['~standard'].validate(payload)
  if (!result?.issues) return
  const problems = result.issues.map((issue) => {
    const path = (issue.path ?? []).map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
    return `payload${path && `.${path}`}: ${issue.message}`
  })
  const field = problems[0]?.split(':')[0] ?? 'payload'
  throw new HoldfastError('payload_rejected', `${definition.type} refuses its payload: ${problems.join('; ')}`, { field })
}
