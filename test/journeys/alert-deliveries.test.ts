import { describe, expect, test } from 'vitest'
import { errorOf, setUp, who } from '../support/alerting.js'
import { eventually } from '../support/facts.js'
import { isSigned, startReceiver } from '../support/receiver.js'

describe('a call', () => {
  test('to a receiver that is down is tried again under the same id, and arrives when it is back', async () => {
    const receiver = await startReceiver((response) => response.writeHead(503).end('be right back'))
    const { alerts, holdfast, callThatIs } = await setUp([receiver.host])
    const { id, secret } = await alerts.addTarget({ url: receiver.url }, who)
    const { job } = await alerts.testTarget(id, who)
    await callThatIs('failed')
    expect(await errorOf(holdfast, job)).toBe(`http://localhost:${receiver.port} answered 503: be right back`)
    receiver.answerWith((response) => response.destroy())
    await holdfast.runNow(job, who)
    await eventually(async () => (await holdfast.job(job))?.attempts.length === 2)
    receiver.answerWith((response) => response.writeHead(200).end())
    await callThatIs('failed')
    await holdfast.runNow(job, who)
    await callThatIs('completed')
    expect(new Set(receiver.received.map((one) => one.id))).toEqual(new Set([`msg_${job}`]))
    expect(receiver.received.every((one) => isSigned(one, secret))).toBe(true)
    expect(receiver.received.at(-1)?.message).toMatchObject({ type: 'alert.test' })
  })

  test('follows no redirect', async () => {
    const receiver = await startReceiver((response) => response.writeHead(302, { location: '/elsewhere' }).end())
    const { alerts, holdfast, callThatIs } = await setUp([receiver.host])
    const { id } = await alerts.addTarget({ url: receiver.url }, who)
    const { job } = await alerts.testTarget(id, who)
    await callThatIs('dead')
    expect(await errorOf(holdfast, job)).toContain('answered 302; redirects are not followed')
    expect(receiver.received.map(({ path }) => path)).toEqual(['/hook'])
  })

  test('to a name that stands for a private address is not made, unless the configuration names the host', async () => {
    const receiver = await startReceiver()
    const { alerts, holdfast, callThatIs } = await setUp(['somebody.else'])
    const { id } = await alerts.addTarget({ url: `https://localhost:${receiver.port}/hook` }, who)
    const { job } = await alerts.testTarget(id, who)
    await callThatIs('failed')
    expect(await errorOf(holdfast, job)).toMatch(/^localhost is at (127\.0\.0\.1|::1), a private address/)
    expect(receiver.connections()).toBe(0)
  })

  test('to a receiver that takes it and talks without end, or never answers, is over in time', { timeout: 60_000 }, async () => {
    const endless = await startReceiver((response) => {
      response.writeHead(500)
      const talk = setInterval(() => response.write('x'.repeat(65_536)), 1)
      response.on('close', () => clearInterval(talk))
    })
    const mute = await startReceiver(() => {})
    const { alerts, holdfast } = await setUp([endless.host, mute.host])
    const errors: string[] = []
    for (const { url } of [endless, mute]) {
      const { id } = await alerts.addTarget({ url }, who)
      const { job } = await alerts.testTarget(id, who)
      errors.push(await eventually(() => errorOf(holdfast, job)))
    }
    expect(errors[0]).toMatch(/answered 500: x{2000}$/)
    expect(errors[1]).toMatch(/did not answer within 10 s$/)
  })

  test('that nobody takes is a dead letter that is seen, and no reason for another call', async () => {
    const receiver = await startReceiver((response) => response.writeHead(410).end())
    const { alerts, die, calls, callThatIs } = await setUp([receiver.host])
    await alerts.addTarget({ url: receiver.url }, who)
    await alerts.setRule('dead-letters', { hold: 0 }, who)
    await die()
    await alerts.look()
    await callThatIs('dead')
    expect(await alerts.look()).toContainEqual({ state: 'firing', rule: 'dead-letters', subject: 'holdfast:alert', value: 1 })
    expect(await alerts.firing()).toMatchObject([{ subject: 'holdfast:alert' }])
    // The end of the first trouble is news; that its call died is not.
    const made = await eventually(async () => {
      const all = await calls()
      return all.every(({ status }) => status === 'dead') && all.length
    })
    expect(made).toBe(2)
    for (let look = 0; look < 4; look++) await alerts.look()
    expect(await calls()).toHaveLength(2)
  })

  test('to a target that was removed ends without being made', async () => {
    const receiver = await startReceiver((response) => response.writeHead(503).end())
    const { alerts, holdfast, callThatIs } = await setUp([receiver.host])
    const { id } = await alerts.addTarget({ url: receiver.url }, who)
    const { job } = await alerts.testTarget(id, who)
    await callThatIs('failed')
    await alerts.removeTarget(id, who)
    await holdfast.runNow(job, who)
    await callThatIs('completed')
    expect(receiver.received).toHaveLength(1)
  })
})
