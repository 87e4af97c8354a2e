import { expect, test } from 'vitest'
import type { ClaimedJob } from '../job/claimed.js'
import { type AttemptServices, callService, type ServiceName, servicesAcross } from './services.js'

const job = { id: 'a job', lease: '1' } as ClaimedJob

test('every service of the worker reaches an isolated handler by its name, and a log line waits for no answer', async () => {
  const called: unknown[][] = []
  const ofWorker: AttemptServices = {
    extendLease: async (...call) => called.push(['extendLease', ...call]) > 0,
    log: (...call) => void called.push(['log', ...call]),
    saveCheckpoint: async (...call) => called.push(['saveCheckpoint', ...call]) < 0,
    readCheckpoint: async (...call) => `{"call": ${called.push(['readCheckpoint', ...call])}}`,
    readTask: async (...call) => {
      called.push(['readTask', ...call])
      return null
    },
    completion: async (...call) => ({ text: `${called.push(['completion', ...call])}`, values: [] }),
    completionStands: async (...call) => (called.push(['completionStands', ...call]) > 0 ? 'written' : 'lost'),
    readSteps: async () => [],
    saveStep: async () => true,
    waitStep: async () => ({ held: true, state: 'waiting', result: null, left: 5 }),
  }
  const sent: unknown[] = []
  const across = (service: ServiceName, argument: unknown) => {
    const message = JSON.parse(JSON.stringify({ service, argument })) as { service: ServiceName; argument: unknown }
    return callService(ofWorker, job, message.service, message.argument)
  }
  const inHost = servicesAcross(
    async (...call) => across(...call),
    (...call) => void sent.push(across(...call)),
  )
  expect(Object.keys(inHost).sort()).toEqual(Object.keys(ofWorker).sort())
  const elsewhere = {} as ClaimedJob
  expect(await inHost.extendLease(elsewhere, 5)).toBe(true)
  expect(inHost.log(elsewhere, { kind: 'line', line: 'so far', level: 'info' })).toBeUndefined()
  expect(await inHost.saveCheckpoint(elsewhere, '1')).toBe(false)
  expect(await inHost.readCheckpoint(elsewhere)).toBe('{"call": 4}')
  expect(await inHost.readTask(elsewhere)).toBe(null)
  expect((await inHost.completion(elsewhere, { startedAgoMs: 1, result: null })).text).toBe('6')
  expect(await inHost.completionStands(elsewhere)).toBe('written')
  expect(await inHost.waitStep(elsewhere, { name: 'sleep', kind: 'sleep', position: 1, after: 0, done: 1, ms: 5 })).toMatchObject(
    { left: 5 },
  )
  expect(sent).toEqual([undefined])
  expect(called).toEqual([
    ['extendLease', job, 5],
    ['log', job, { kind: 'line', line: 'so far', level: 'info' }],
    ['saveCheckpoint', job, '1'],
    ['readCheckpoint', job, undefined],
    ['readTask', job, undefined],
    ['completion', job, { startedAgoMs: 1, result: null }],
    ['completionStands', job, undefined],
  ])
})
