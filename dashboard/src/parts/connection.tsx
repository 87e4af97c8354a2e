import { useIsFetching, useQueryClient } from '@tanstack/react-query'
import { inWords, useNow } from './time.js'

const freshForMs = 8_000

/** Whether what the page shows is of now. It says so before anybody acts on an old picture. */
export function Connection() {
  useIsFetching()
  const now = useNow()
  const client = useQueryClient()
  const shown = client
    .getQueryCache()
    .findAll({ type: 'active' })
    .filter(({ state }) => state.dataUpdatedAt > 0)
  const live = shown.filter(({ queryKey, meta }) => queryKey[0] !== 'session' && meta?.slow !== true)
  if (live.length === 0) return <span role="status">…</span>
  const age = now - Math.min(...live.map(({ state }) => state.dataUpdatedAt))
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
