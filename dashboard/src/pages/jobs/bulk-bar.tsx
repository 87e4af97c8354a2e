import { useQuery } from '@tanstack/react-query'
import type { BulkBody, BulkEstimateAnswer } from '../../../../src/api/bulk.js'
import type { Permission } from '../../../../src/api/permissions.js'
import { ask } from '../../api/ask.js'
import { Act, type Values } from '../../parts/act.js'
import { Count } from '../../parts/count.js'
import { Field, given, givenNumber } from '../../parts/fields.js'
import { Loaded } from '../../parts/page.js'
import { go } from '../../routing.js'
import type { Selection } from './selection.js'

type Action = BulkBody['action']
type Which = Pick<BulkBody, 'filter' | 'ids'>

interface Offer {
  readonly action: Action
  readonly name: string
  readonly says: string
  readonly needs: Permission
  /** The statuses it is for. */
  readonly of: readonly string[]
  readonly grave?: boolean
}

const live = ['awaiting_approval', 'scheduled', 'blocked', 'pending', 'processing', 'failed']
const offers: readonly Offer[] = [
  {
    action: 'run-now',
    name: 'Run now',
    says: 'They no longer wait for their time.',
    needs: 'jobs:cancel',
    of: ['scheduled', 'failed'],
  },
  { action: 'reschedule', name: 'Reschedule', says: 'They become due at another time.', needs: 'jobs:cancel', of: live },
  { action: 'set-priority', name: 'Priority', says: 'The highest priority runs first.', needs: 'workers:manage', of: live },
  {
    action: 'retry',
    name: 'Retry',
    says: 'Failed jobs become due at once; dead ones are replayed with all their attempts before them.',
    needs: 'dlq:manage',
    of: ['failed', 'dead'],
  },
  {
    action: 'cancel',
    name: 'Cancel',
    says: 'They end as cancelled, also those that run.',
    needs: 'jobs:cancel',
    of: live,
    grave: true,
  },
  { action: 'discard', name: 'Discard', says: 'Dead jobs end for good.', needs: 'dlq:manage', of: ['dead'], grave: true },
]

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
        {possible.length === 0 && <span className="soft">of jobs that have ended, only dead ones can be changed</span>}
        {possible.map((offer) => (
          <BulkAct key={offer.action} offer={offer} which={which} done={clear} />
        ))}
      </div>
    </section>
  )
}

function BulkAct({ offer, which, done }: { offer: Offer; which: Which; done: () => void }) {
  const { action, name, says, needs, grave = false } = offer
  const send = async ({ why, delay, priority, pace }: Values) => {
    const body: BulkBody = {
      action,
      ...which,
      ...(given(why) === undefined ? {} : { why: given(why) as string }),
      ...(action === 'reschedule' ? { delay: delay ?? '' } : {}),
      ...(action === 'set-priority' ? { priority: Number(priority) } : {}),
      ...(givenNumber(pace) === undefined ? {} : { pace: givenNumber(pace) as number }),
    }
    await ask('bulk', { method: 'POST', body })
    done()
    go('/bulk')
  }
  return (
    <Act
      name={name}
      title={`${name} the selected jobs`}
      needs={needs}
      {...(grave ? { look: 'grave' as const, typed: action, why: 'needed' as const } : {})}
      send={send}
      done="It has begun; this page says how far it is"
    >
      <Preview action={action} which={which} says={says} />
      {action === 'reschedule' && <Field name="delay" label="From now, such as 30s, 2h or 3 days" required />}
      {action === 'set-priority' && <Field name="priority" label="Priority, 0 to 9" type="number" min={0} max={9} required />}
      <Field name="pace" label="At most so many a second" hint="empty: as fast as it goes" type="number" min={1} />
    </Act>
  )
}

/** How many jobs it would be, as the server counts them. */
function Preview({ action, which, says }: { action: Action; which: Which; says: string }) {
  // What only the form knows is not counted by.
  const rest = action === 'set-priority' ? { priority: 0 } : action === 'reschedule' ? { delay: '1s' } : {}
  const counted = useQuery({
    queryKey: ['preview', action, which],
    queryFn: () => ask<BulkEstimateAnswer>('bulk', { method: 'POST', body: { action, ...which, ...rest, dry_run: true } }),
    refetchInterval: false,
    staleTime: 0,
    gcTime: 0,
  })
  return (
    <div className="says">
      <Loaded query={counted}>
        {({ estimate, more }) => (
          <p>
            <b className="large">
              <Count count={estimate} more={more} />
            </b>{' '}
            {estimate === 1 ? 'job is' : 'jobs are'} meant. {says}
          </p>
        )}
      </Loaded>
    </div>
  )
}
