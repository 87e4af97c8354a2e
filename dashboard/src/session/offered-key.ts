import { useSyncExternalStore } from 'react'

/** `npm start` prints a link with a key after #key=. It leaves the address at once, so that it is in no history and on no screenshot. */
let offered = takeKey()
const listeners = new Set<() => void>()

function takeKey(): string | undefined {
  const key = /^#key=(.+)$/.exec(window.location.hash)?.[1]
  if (key !== undefined) window.history.replaceState(null, '', '#/')
  return key
}

function change(key: string | undefined): void {
  offered = key
  for (const listener of listeners) listener()
}

// Before anybody else reads the address.
window.addEventListener(
  'hashchange',
  () => {
    const key = takeKey()
    if (key !== undefined) change(key)
  },
  { capture: true },
)

const subscribe = (changed: () => void) => {
  listeners.add(changed)
  return () => listeners.delete(changed)
}

export const useOfferedKey = () => useSyncExternalStore(subscribe, () => offered)
export const forgetOfferedKey = () => change(undefined)
