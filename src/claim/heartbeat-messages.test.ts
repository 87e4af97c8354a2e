import { expect, test } from 'vitest'
import { heartbeatPatience } from './heartbeat-messages.js'

test('a heartbeat waits for a slow network in proportion to the shortest lease, and leaves time for a second try', () => {
  expect(heartbeatPatience([60_000])).toEqual({ connectMs: 30_000, answerMs: 20_000 })
  expect(heartbeatPatience([3_600_000, 60_000])).toEqual({ connectMs: 30_000, answerMs: 20_000 })
  const interval = 15_000
  expect(interval + heartbeatPatience([60_000]).answerMs).toBeLessThan(60_000 - 20_000)
})

test('leases of seconds, which only tests have, get five seconds nevertheless', () => {
  expect(heartbeatPatience([1_000])).toEqual({ connectMs: 5_000, answerMs: 5_000 })
})
