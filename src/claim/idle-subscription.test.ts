import { expect, test } from 'vitest'
import type { Store } from '../store/store.js'
import { IdleSubscription } from './idle-subscription.js'

function subscriptionOf(answer: () => Promise<{ news: boolean; others: number }>) {
  const asked = { unsubscribed: 0 }
  const store = {
    subscribeIdle: answer,
    unsubscribeIdle: async () => void asked.unsubscribed++,
  } as unknown as Store
  return { asked, subscription: new IdleSubscription(store, 1, () => [1]) }
}

test('a worker that lost its connection and has no free slot since then is not notified any more', async () => {
  const { asked, subscription } = subscriptionOf(async () => ({ news: true, others: 0 }))
  await subscription.nextPollMs(2_000)
  subscription.forget()
  await subscription.end()
  expect(asked.unsubscribed).toBe(1)
  await subscription.end()
  expect(asked.unsubscribed).toBe(1)
})

test('nor is one that said it is idle and was not answered', async () => {
  const { asked, subscription } = subscriptionOf(async () => {
    throw new Error('the connection is gone')
  })
  await expect(subscription.nextPollMs(2_000)).rejects.toThrow('the connection is gone')
  await subscription.end()
  expect(asked.unsubscribed).toBe(1)
})
