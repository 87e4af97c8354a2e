/** Whether a type is one of Holdfast's own, such as `holdfast:webhook`, whose jobs the database or Holdfast itself enqueues. */
export function isOwnType(type: string): boolean {
  return type.startsWith('holdfast:')
}
