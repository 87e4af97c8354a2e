import { useEffect, useState } from 'react'

export interface Selection {
  /** The jobs that are selected, of those that are shown. */
  readonly ids: ReadonlySet<string>
  /** Every job that fits the filter is meant, also those that are not shown. */
  readonly all: boolean
  /** With `reach`, all rows from the last one that was chosen. */
  readonly toggle: (id: string, reach: boolean) => void
  readonly toggleShown: () => void
  readonly takeAll: () => void
  readonly clear: () => void
}

/** Which rows of a list somebody has chosen. In another list, of which `list` tells, nothing is chosen. */
export function useSelection(shown: readonly string[], list: string): Selection {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const [all, setAll] = useState(false)
  const [last, setLast] = useState<string>()
  const choose = (next: Iterable<string>, every = false) => {
    setIds(new Set(next))
    setAll(every)
  }
  useEffect(() => choose([]), [list])
  return {
    ids,
    all,
    toggle(id, reach) {
      const next = new Set(ids)
      const [from, to] = [shown.indexOf(last ?? ''), shown.indexOf(id)].sort((a, b) => a - b) as [number, number]
      if (reach && from >= 0) for (const one of shown.slice(from, to + 1)) next.add(one)
      else if (!next.delete(id)) next.add(id)
      setLast(id)
      choose(next)
    },
    toggleShown: () => choose(ids.size >= shown.length ? [] : shown),
    takeAll: () => choose(shown, true),
    clear: () => choose([]),
  }
}
