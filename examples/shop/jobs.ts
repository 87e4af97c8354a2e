/** What producers and workers share: the one Holdfast of the process, and everything that runs. */
import { setTimeout as pause } from 'node:timers/promises'
import { type DeathNotice, defineSchedule, defineType, defineWorkflow, FatalError, Holdfast, RetryableError } from 'holdfast'
import { z } from 'zod'
import { pool } from './database.ts'
import { makeLabel } from './label.ts'

export const holdfast = new Holdfast({ connectionString: process.env.DATABASE_URL })

export const tellSupport = defineType({
  type: 'tell_support',
  run: async ({ job, type, error }: DeathNotice, ctx) => {
    ctx.log.warn(`${type} ${job} died: ${error?.message}`)
    return { told: job }
  },
})

/** Each tenant has one mail under way, and they take turns. A mail that cannot be sent is told to support, whatever kills whom. */
export const sendMail = defineType({
  type: 'send_mail',
  payload: z.object({ to: z.email(), subject: z.string() }),
  maxAttempts: 4,
  backoff: { base: '200ms', factor: 2, jitter: 0 },
  timeout: '10s',
  limits: { maxRunning: 4, maxRunningPerKey: 1, fair: true },
  onDead: { enqueue: tellSupport },
  async run({ to, subject }, ctx) {
    if (to.startsWith('busy') && ctx.job.attempt < 3) throw new Error('the mail server is busy')
    if (to.endsWith('@nowhere.example')) throw new FatalError(`${to} does not exist`)
    await pause(60)
    ctx.log(`${subject} to ${to}`)
    return { sent: to }
  },
})

export const order = defineWorkflow({
  name: 'order',
  input: z.object({ order: z.number().int(), tenant: z.string(), cents: z.number().int(), card: z.string() }),
  tasks(task) {
    const charge = task('charge', {
      maxAttempts: 3,
      async run({ order, cents, card }, { job }) {
        if (card === 'declined') throw new FatalError('the card was declined')
        if (card === 'slow' && job.attempt === 1) throw new RetryableError('the bank is closed', { after: '300ms' })
        // The order is the key: charged twice is charged once.
        await pool.query('insert into payments (order_id, cents) values ($1, $2) on conflict do nothing', [order, cents])
        return { receipt: `paid ${cents} for order ${order}` }
      },
    })
    const label = task('label', { type: makeLabel, after: [charge] })
    const ship = task('ship', {
      after: [charge, label],
      async run({ card }, { parents }) {
        const { charge, label } = await parents()
        if (card === 'lost') throw new FatalError('the parcel was lost')
        return { parcel: label.label, receipt: charge.receipt }
      },
    })
    task('refund', {
      after: [charge, label, ship],
      when: 'failed',
      run: async ({ order }) => void (await pool.query('update payments set refunded = true where order_id = $1', [order])),
    })
    return ship
  },
})

export const countOrders = defineType({
  type: 'count_orders',
  run: async (_payload, { scheduledFor }) => {
    const { rows } = await pool.query<{ orders: number }>('select count(*)::int as orders from orders')
    return { at: scheduledFor?.toISOString(), orders: rows[0]?.orders }
  },
})

export const everyTwoSeconds = defineSchedule({ name: 'count-orders', type: countOrders, every: '2s', overlap: 'skip' })
