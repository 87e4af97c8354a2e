import type { BulkBody } from '../../../../src/api/bulk.js'
import { BulkAct, offers, type Which } from '../../parts/bulk-act.js'
import type { Selection } from './selection.js'

interface BulkBarProps {
  readonly selection: Selection
  /** What fits the filter of the page, for all jobs. */
  readonly filter: NonNullable<BulkBody['filter']>
  /** The statuses of the jobs that are selected; undefined: not known of each. */
  readonly statuses: readonly string[] | undefined
}

/** What can be done to the jobs that are selected. The server counts first; then a job does it in the background. */
export function BulkBar({ selection, filter, statuses }: BulkBarProps) {
  const { ids, all, takeAll, clear } = selection
  if (ids.size === 0) return null
  const which: Which = all ? { filter } : { ids: [...ids] }
  const meant = all ? (filter.status === undefined ? undefined : [filter.status as string]) : statuses
  const possible = offers.filter(({ of }) => meant === undefined || of.some((status) => meant.includes(status)))
  return (
    <section className="bulk" aria-label="Selected jobs">
      <p aria-live="polite">
        {all ? <b>All jobs that fit the filter</b> : <b>{ids.size} selected</b>}
        {!all && (
          <button type="button" className="plain" onClick={takeAll}>
            select all that fit the filter
          </button>
        )}
        <button type="button" className="plain" onClick={clear}>
          clear
        </button>
      </p>
      <div className="acts">
        {possible.length === 0 && (
          <span className="soft">of jobs that have ended, only dead and cancelled ones can be changed</span>
        )}
        {possible.map((offer) => (
          <BulkAct key={offer.action} offer={offer} which={which} done={clear} />
        ))}
      </div>
    </section>
  )
}
