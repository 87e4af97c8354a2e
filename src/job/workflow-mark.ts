import type { AnyJobType } from './type.js'

/** What defineWorkflow marks its answer with. Known by name, because a program may hold two copies of this package. */
export const workflowMark = Symbol.for('holdfast.workflow')

/** What is known of a workflow where only its handlers matter: a file that exports a workflow exports its handlers. */
export interface MarkedWorkflow {
  readonly types: readonly AnyJobType[]
}

export function isWorkflow(value: unknown): value is MarkedWorkflow {
  return typeof value === 'object' && value !== null && workflowMark in value
}
