import { useState } from 'react'

const stored = 'holdfast.jobs.columns'

/** The columns that can be chosen, beside the job itself. */
export const columnNames = [
  ...['Status', 'Lane', 'Service', 'Key', 'Tags', 'Payload', 'Priority', 'Attempt', 'Enqueued', 'Due or ended', 'Took'],
] as const
export const standardColumns: readonly string[] = ['Status', 'Lane', 'Service', 'Priority', 'Attempt', 'Enqueued', 'Due or ended']

function kept(): readonly string[] {
  const names = localStorage.getItem(stored)?.split(',') ?? []
  const known = columnNames.filter((name) => names.includes(name))
  return known.length === 0 ? standardColumns : known
}

/** Which columns somebody wants to see; this browser remembers them. */
export function useColumns(): readonly [readonly string[], (name: string) => void] {
  const [shown, setShown] = useState(kept)
  const toggle = (name: string) => {
    const next = columnNames.filter((one) => (one === name ? !shown.includes(one) : shown.includes(one)))
    localStorage.setItem(stored, next.join(','))
    setShown(kept())
  }
  return [shown, toggle]
}

export function ColumnPicker({ shown, toggle }: { shown: readonly string[]; toggle: (name: string) => void }) {
  return (
    <details className="picker">
      <summary>Columns</summary>
      <fieldset>
        <legend className="unseen">Columns that are shown</legend>
        {columnNames.map((name) => (
          <label key={name} className="check">
            <input type="checkbox" checked={shown.includes(name)} onChange={() => toggle(name)} />
            <span>{name}</span>
          </label>
        ))}
      </fieldset>
    </details>
  )
}
