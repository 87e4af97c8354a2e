/** Known by name, because a program may hold two copies of this package. */
const mark = Symbol.for('holdfast.type')

/** Marks what defineType made. */
export function marked<Type extends object>(type: Type): Type {
  return Object.freeze(Object.defineProperty(type, mark, { value: true }))
}

export function isMarked(value: unknown): boolean {
  return typeof value === 'object' && value !== null && mark in value
}
