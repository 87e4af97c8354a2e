import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { repository } from '../support/source.js'

test('a signup goes through everything that can go wrong, and every job ends as it should', async () => {
  const { setStage } = await import(join(repository, 'examples/support/stage.mjs'))
  const { play } = await import(join(repository, 'examples/signup/main.mjs'))
  const stage = await setStage({ databaseUrl: process.env.HOLDFAST_TEST_URL, say: () => {} })
  onTestFinished(stage.end)
  const told = await play(stage, { backoff: '200ms', sizes: { rows: 20_000, deliveries: 250, subscribers: 1_000 } })

  expect(told['poison-image']).toMatchObject({ avatars: { completed: 4, dead: 1 }, workers: 1, mails: { completed: 5 } })
  expect(told['slow-crm'].mails).not.toHaveProperty('pending')
  expect(told['slow-crm'].crm).toEqual({ completed: 20 })
  // A signup is answered before its CRM is: that takes a second, and one request in twenty for ever.
  expect(told['slow-crm'].slowestAnswer).toBeLessThan(1_000)
  expect(told['slow-crm'].timeouts).toBeGreaterThan(0)
  expect(told['smtp-down']).toMatchObject({ mails: 12, different: 12 })
  expect(told['import-spiral']).toEqual({ mailsFirst: true, imported: { completed: 20_000 } })
  expect(told['emergency-pause']).toMatchObject({ paused: { pending: 5 } })
  expect(told['emergency-pause'].resumed).not.toHaveProperty('pending')
  expect(told['bad-deploy'].refused).toMatch(/lease is 30s.*60s to 1h/)
  const { verdict, died, rescuedBy, drained } = told.canary
  expect(verdict).toMatchObject({ verdict: 'roll back', build: '2.0', baseline: '1.0' })
  expect(verdict.findings).toContainEqual(expect.objectContaining({ type: 'send_email', says: 'roll back' }))
  expect(drained).toEqual({ by: 'ada', why: 'its mails fail' })
  expect([died > 0, rescuedBy]).toEqual([true, ['1.0']])
  expect(Object.keys(told.canary.mails)).toEqual(['completed'])
  expect(told['rate-limited-webhooks'].delivered).toBe(250)
  expect(told['rate-limited-webhooks'].most).toBeLessThanOrEqual(100)
  expect(told['rate-limited-webhooks'].took).toBeGreaterThan(1.9)
  expect(told['fan-out']).toMatchObject({ status: 'failed', completed: 990, dead: 10, reports: { completed: 1 } })
  const partial = told['fan-out'].looks.filter(({ done }: { done: number }) => done > 0 && done < 1_000)
  expect(new Set(partial.map(({ status }: { status: string }) => status))).toEqual(new Set(['running']))
  expect(told['lossy-network'].late).toBeGreaterThanOrEqual(10)
  expect(told['lossy-network'].cut).toBeGreaterThanOrEqual(2)
  for (const { mails } of [told['bad-deploy'], told['lossy-network']]) expect(Object.keys(mails)).toEqual(['completed'])
}, 300_000)
