import type { ReactNode } from 'react'
import { Link } from '../parts/link.js'

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/i

function pageOf(action: string, id: string): string {
  // All of them stand on one page.
  if (action.includes('bulk')) return '/bulk'
  if (action.includes('batch')) return `/batches/${id}`
  return /execution|workflow/.test(action) ? `/workflows/${id}` : `/jobs/${id}`
}

/** What a line of the audit log is about, with a way there where there is one. */
export function targetOf({ action, target }: { readonly action: string; readonly target: string | null }): ReactNode {
  if (target === null) return null
  if (uuid.test(target)) {
    return (
      <Link to={pageOf(action, target)} className="mono">
        …{target.slice(-8)}
      </Link>
    )
  }
  if (/type|breaker|limits/.test(action)) return <Link to={`/types/${encodeURIComponent(target)}`}>{target}</Link>
  if (action.includes('schedule')) return <Link to={`/schedules/${encodeURIComponent(target)}`}>{target}</Link>
  return <span>{target}</span>
}
