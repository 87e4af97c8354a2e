import type { JobRequest } from '../../job/type.js'
import type { Order } from './order.js'
import { bulkExport, email, flaky, payment, poison, refund, report, thumbnail } from './types.js'

/** What comes in a second of the demo. */
export interface Second {
  readonly jobs: readonly JobRequest[]
  /** An execution of the workflow that starts. */
  readonly order?: Order
  /** A batch that is stored. */
  readonly batch?: { readonly name: string; readonly jobs: readonly JobRequest[]; readonly onSuccess: JobRequest }
  /** Jobs with this tag that somebody thinks better of, with a bulk action. */
  readonly calledOff?: { readonly tag: string; readonly jobs: readonly JobRequest[] }
  /** Whether the payment provider answers. */
  readonly providerAnswers: boolean
}

const people = ['ada', 'grace', 'linus', 'margaret', 'dennis', 'barbara', 'ken', 'frances']
const goods = ['socks', 'a hat', 'a scarf', 'an umbrella']

/** The payment provider is away from second 30 to 70 of every three minutes. */
const outage = { every: 180, from: 30, to: 70 }

/**
 * About one job a second, and now and then what else there is to see. The rare ones come early, so that every page shows something
 * within the first seconds.
 */
export function second(at: number): Second {
  const address = `${person(at)}@example.com`
  const away = at % outage.every
  const found: JobRequest[] = [everySecond(at)]
  if (at % 2 === 0) found.push(payment.job({ customer: person(at), amount: 10 + (at % 90) }, { concurrencyKey: person(at) }))
  if (at % 60 === 4) found.push(...times(4, (part) => bulkExport.job({ table: 'orders', part })))
  if (at % 15 === 5) found.push(email.job({ to: address, subject: 'Your cart waits for you' }, { delay: '10m' }))
  if (at % 120 === 6) found.push(refund.job({ order: `R-${1_000 + at}`, amount: 25 }))
  return {
    jobs: found,
    providerAnswers: away < outage.from || away >= outage.to,
    ...(at % 20 === 7 && { order: { customer: address, cart: goods.slice(at % 3), refused: at % 100 === 47 } }),
    ...(at % 60 === 8 && {
      batch: {
        name: `thumbnails of album ${1 + Math.floor(at / 60)}`,
        jobs: times(12, (photo) => thumbnail.job({ photo })),
        onSuccess: email.job({ to: address, subject: 'Your album is ready' }),
      },
    }),
    ...(at % 600 === 9 && {
      calledOff: {
        tag: 'spring-sale',
        jobs: times(40, (at) => email.job({ to: `${person(at)}@example.com` }, { delay: '1h', tags: ['spring-sale'] })),
      },
    }),
  }
}

function everySecond(at: number): JobRequest {
  if (at % 30 === 2) return report.job({ month: 'July', requested_by: `${person(at)}@example.com` })
  if (at % 30 === 3) return poison.job(at % 60 === 3 ? { customer: person(at) } : { customer: person(at), amount: -4 })
  if (at % 5 === 1) return flaky.job({ city: 'Oslo', fails: 1 + (Math.floor(at / 5) % 2) })
  return email.job({ to: `${person(at)}@example.com`, subject: 'Welcome aboard' })
}

const person = (at: number): string => people[at % people.length] as string
const times = (count: number, make: (at: number) => JobRequest): JobRequest[] =>
  Array.from({ length: count }, (_, at) => make(at))
