import type { StandardSchemaV1 } from '@standard-schema/spec'
import { HoldfastError } from '../errors.js'
import { fieldOf, type Issue } from '../issue.js'
import type { AnyJobType } from './type.js'

/** Refuses a payload that does not fit the schema of its definition, naming the path of everything that is wrong. */
export async function checkAgainstSchema(definition: AnyJobType, payload: unknown, version = definition.version): Promise<void> {
  // The schema is that of today's payloads.
  if (version !== definition.version) return
  await refuseUnfit(definition.schema, payload, 'payload', definition.type)
}

/** Refuses a value that does not fit its schema, naming the path of everything that is wrong. `field`: what the value is called, `by`: whose schema it is. */
export async function refuseUnfit(
  schema: StandardSchemaV1 | undefined,
  value: unknown,
  field: string,
  by: string,
): Promise<void> {
  const result = await schema?.['~standard'].validate(value)
  if (!result?.issues) return
  const issues = issuesOf(result.issues, field)
  throw new HoldfastError('payload_rejected', `${by} refuses its ${field}: ${issuesText(issues)}`, { issues })
}

/** What a schema found wrong with a value. */
export function issuesOf(found: readonly StandardSchemaV1.Issue[], field: string): Issue[] {
  return found.map(({ path = [], message }) => {
    const steps = path.map((part) => (typeof part === 'object' ? part.key : part))
    return { path: [field, ...steps.map((step) => (typeof step === 'number' ? step : String(step)))], problem: message }
  })
}

/** The same as one text, each behind the path of its field. */
export function issuesText(issues: readonly Issue[]): string {
  return issues.map(({ path, problem }) => `${fieldOf(path)}: ${problem}`).join('; ')
}
