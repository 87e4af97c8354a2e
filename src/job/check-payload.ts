import { HoldfastError } from '../errors.js'
import { fieldOf, type Issue } from '../issue.js'
import type { AnyJobType } from './type.js'

/** Refuses a payload that does not fit the schema of its definition, naming every place. */
export async function checkAgainstSchema(definition: AnyJobType, payload: unknown, version = definition.version): Promise<void> {
  // The schema is that of today's payloads.
  if (version !== definition.version) return
  const result = await definition.schema?.['~standard'].validate(payload)
  if (!result?.issues) return
  const issues = result.issues.map(({ path = [], message }): Issue => {
    const steps = path.map((part) => (typeof part === 'object' ? part.key : part))
    return { path: ['payload', ...steps.map((step) => (typeof step === 'number' ? step : String(step)))], problem: message }
  })
  const problems = issues.map(({ path, problem }) => `${fieldOf(path)}: ${problem}`)
  throw new HoldfastError('payload_rejected', `${definition.type} refuses its payload: ${problems.join('; ')}`, { issues })
}
