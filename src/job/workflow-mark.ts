import type { AnyJobType } from './type.js'

/** What defineWorkflow marks its answer with. Known by name, because a program may hold two copies of this package. */
export const workflowMark = Symbol.for('holdfast.workflow')

/** The types of a workflow's tasks, where that is what it is: a file that exports a workflow exports its handlers. */
export function typesOfWorkflow(value: unknown): readonly AnyJobType[] | undefined {
  if (typeof value !== 'object' || value === null || !(workflowMark in value)) return undefined
  return (value as { types?: readonly AnyJobType[] }).types
}
