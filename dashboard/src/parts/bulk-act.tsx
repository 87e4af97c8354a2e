import { useQuery } from '@tanstack/react-query'
import type { BulkBody, BulkEstimateAnswer } from '../../../src/api/bulk.js'
import type { Permission } from '../../../src/api/permissions.js'
import { ask } from '../api/ask.js'
import { go } from '../routing.js'
import { Act, type Values } from './act.js'
import { Count } from './count.js'
import { Field, given, givenNumber, PriorityField } from './fields.js'
import { Loaded } from './page.js'

type Action = BulkBody['action']
export type Which = Pick<BulkBody, 'filter' | 'ids'>

/** Something that can be done to many jobs. */
export interface Offer {
  readonly action: Action
  readonly name: string
  readonly says: string
  readonly needs: Permission
  /** The statuses it is for. */
  readonly of: readonly string[]
  readonly grave?: boolean
}

const notRunning = ['awaiting_approval', 'scheduled', 'blocked', 'pending', 'failed']
const live = ['awaiting_approval', 'scheduled', 'blocked', 'pending', 'processing', 'failed']
export const offers: readonly Offer[] = [
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
  {
    action: 'bury',
    name: 'Bury',
    says: 'They become dead letters, to be replayed or discarded later. Those that run are left alone.',
    needs: 'dlq:manage',
    of: notRunning,
  },
  {
    action: 'resume',
    name: 'Resume',
    says: 'They go on from their last checkpoint or step.',
    needs: 'jobs:cancel',
    of: ['cancelled'],
  },
  { action: 'discard', name: 'Discard', says: 'Dead jobs end for good.', needs: 'dlq:manage', of: ['dead'], grave: true },
]

/** Of jobs that are all dead: the word that the page of dead letters has for it. */
export const replayOffer: Offer = {
  action: 'replay',
  name: 'Replay',
  says: 'Each gets all its attempts again, and runs with the payload it has.',
  needs: 'dlq:manage',
  of: ['dead'],
}

export const offerOf = (action: Action) => offers.find((offer) => offer.action === action) as Offer

interface BulkActProps {
  readonly offer: Offer
  readonly which: Which
  /** Which jobs, in words. */
  readonly of?: string
  /** A sensitive type whose jobs are meant: it has to be typed. */
  readonly confirm?: string
  readonly done?: () => void
}

/** Does something to many jobs: the server counts first; then a job does it in the background. */
export function BulkAct({ offer, which, of = 'the selected jobs', confirm, done }: BulkActProps) {
  const { action, name, says, needs, grave = false } = offer
  const send = async ({ why, delay, priority, pace }: Values) => {
    const body: BulkBody = {
      action,
      ...which,
      ...(given(why) === undefined ? {} : { why: given(why) as string }),
      ...(confirm === undefined ? {} : { confirm }),
      ...(action === 'reschedule' ? { delay: delay ?? '' } : {}),
      ...(action === 'set-priority' ? { priority: Number(priority) } : {}),
      ...(givenNumber(pace) === undefined ? {} : { pace: givenNumber(pace) as number }),
    }
    await ask('bulk', { method: 'POST', body })
    done?.()
    go('/bulk')
  }
  return (
    <Act
      name={name}
      title={`${name} ${of}`}
      needs={needs}
      {...(grave ? { look: 'grave' as const, typed: action, why: 'needed' as const } : {})}
      {...(confirm === undefined ? {} : { typed: confirm })}
      send={send}
      done="It has begun; this page says how far it is"
    >
      <Preview action={action} which={which} says={says} />
      {action === 'reschedule' && <Field name="delay" label="From now, such as 30s, 2h or 3 days" required />}
      {action === 'set-priority' && <PriorityField required />}
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
