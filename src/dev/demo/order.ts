import { defineWorkflow } from '../../workflow/define.js'
import type { AnyWorkflow } from '../../workflow/typed.js'
import { work } from './types.js'

export interface Order {
  readonly customer: string
  readonly cart: readonly string[]
  /** Whether the card is refused, so that an execution that failed can be seen too. */
  readonly refused: boolean
}

/** Charges and packs at once, ships each parcel, and tells the customer; or gives the money back. */
export const order = defineWorkflow({
  name: 'demo_order',
  tasks(task) {
    const charge = task('charge', {
      maxAttempts: 2,
      backoff: { base: '2s', cap: '2s', jitter: '500ms' },
      limits: { breaker: false },
      async run(input, { signal }) {
        await work(800, signal)
        if ((input as Order).refused) throw new Error('the bank refused the card')
        return { receipt: 'R-1042' }
      },
    })
    const pack = task('pack', {
      async run(input, { signal }) {
        await work(2_500, signal)
        return { parcels: (input as Order).cart.map((name) => ({ name })) }
      },
    })
    const ship = task('ship', {
      after: [charge, pack],
      each: '$.pack.parcels[*]',
      async run(parcel, { signal }) {
        await work(3_000, signal)
        return `sent ${(parcel as { name: string }).name}`
      },
    })
    task('refund', { after: [charge, pack, ship], when: 'failed', run: (_input, { signal }) => work(500, signal) })
    return task('mail', {
      after: [charge, ship],
      async run(_input, { parents, signal }) {
        await work(300, signal)
        const { charge, ship } = await parents()
        return `${charge.receipt}: ${ship.join(', ')}`
      },
    })
  },
}) as AnyWorkflow
