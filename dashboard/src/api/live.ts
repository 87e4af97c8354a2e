import { useSyncExternalStore } from 'react'

/** Whether the page asks again by itself. Somebody who reads a list closely, or shows it to others, holds it still. */
let held = false
const listeners = new Set<() => void>()

const subscribe = (changed: () => void) => {
  listeners.add(changed)
  return () => listeners.delete(changed)
}

export const useHeld = () => useSyncExternalStore(subscribe, () => held)

export function hold(next: boolean): void {
  held = next
  for (const listener of listeners) listener()
}
