import { useSyncExternalStore } from 'react'

interface Said {
  readonly id: number
  readonly text: string
}

const shownForMs = 6_000
const listeners = new Set<() => void>()
let said: readonly Said[] = []
let last = 0

function change(next: readonly Said[]): void {
  said = next
  for (const listener of listeners) listener()
}

/** Says what became of something the reader did, at the edge of the page, and aloud to those who do not see it. */
export function say(text: string): void {
  last += 1
  const id = last
  change([...said.slice(-3), { id, text }])
  setTimeout(() => change(said.filter((one) => one.id !== id)), shownForMs)
}

const subscribe = (changed: () => void) => {
  listeners.add(changed)
  return () => listeners.delete(changed)
}

export function SaidLately() {
  const lines = useSyncExternalStore(subscribe, () => said)
  return (
    <div className="said" role="status" aria-live="polite">
      {lines.map(({ id, text }) => (
        <p key={id}>{text}</p>
      ))}
    </div>
  )
}
