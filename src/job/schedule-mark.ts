/** What defineSchedule marks its answer with. Known by name, because a program may hold two copies of this package. */
export const scheduleMark = Symbol.for('holdfast.schedule')

/** What is known of a schedule where only that it is one matters: a file of handlers may export schedules beside them. */
export interface MarkedSchedule {
  readonly name: string
}

export function isSchedule(value: unknown): value is MarkedSchedule {
  return typeof value === 'object' && value !== null && scheduleMark in value
}
