import { useIsFetching, useQueryClient } from '@tanstack/react-query'
import { hold, useHeld } from '../api/live.js'
import { inWords, useNow } from './time.js'

const freshForMs = 8_000

/** Whether what the page shows is of now, which it says before anybody acts on an old picture; and what holds it still. */
export function Connection() {
  const held = useHeld()
  const client = useQueryClient()
  const toggle = () => {
    hold(!held)
    if (held) void client.invalidateQueries({ type: 'active', predicate: ({ queryKey }) => queryKey[0] !== 'session' })
  }
  return (
    <span className="connection">
      <Freshness held={held} />
      <button type="button" className="plain" aria-pressed={held} title="or press h" aria-keyshortcuts="h" onClick={toggle}>
        {held ? 'go on' : 'hold still'}
      </button>
    </span>
  )
}

function Freshness({ held }: { held: boolean }) {
  useIsFetching()
  const now = useNow()
  const shown = useQueryClient()
    .getQueryCache()
    .findAll({ type: 'active' })
    .filter(({ state }) => state.dataUpdatedAt > 0)
  const live = shown.filter(({ queryKey, meta }) => queryKey[0] !== 'session' && meta?.slow !== true)
  if (live.length === 0) return <span role="status">…</span>
  const age = now - Math.min(...live.map(({ state }) => state.dataUpdatedAt))
  if (held) {
    return (
      <span className="status" data-status="scheduled">
        <span role="status">held still</span> for {inWords(age)}
      </span>
    )
  }
  if (age < freshForMs)
    return (
      <span role="status" className="live">
        live
      </span>
    )
  return (
    <span role="status" className="status" data-status="failed">
      stale for {inWords(age)}
    </span>
  )
}
