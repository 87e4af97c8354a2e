import { defineDependency, defineSchedule, defineType, defineWorkflow, Holdfast, type HoldfastError, Holdfasts } from 'holdfast'
import { HoldfastClient } from 'holdfast/client'
import { startPostgres } from 'holdfast/dev'
import { startRemoteWorker } from 'holdfast/remote-worker'
import { createHandler, createPlugin, createServer } from 'holdfast/server'
import { runJob, type ScratchQueue, scratchQueue } from 'holdfast/testing'
import { smoke, startWorker, startWorkers } from 'holdfast/worker'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { publicOptions } from '../../tools/public-options.mjs'
import { adminKey, quiet, type Serving, serve } from '../support/serving.js'

// Nobody listens there: an unknown option is refused before anything is asked of a database.
const connectionString = 'postgres://localhost:1/nothing'
const holdfast = new Holdfast({ connectionString })
const holdfasts = new Holdfasts({ members: { eu: connectionString, us: 'postgres://localhost:1/other' } })
const mail = defineType({ type: 'mail', run() {} })
const id = '01890a5d-ac96-774b-bcce-b302099a8057'
const who = { by: 'ada', why: 'to see' }

let serving: Serving
let client: HoldfastClient
let queue: ScratchQueue
beforeAll(async () => {
  serving = await serve()
  client = new HoldfastClient({ url: serving.address, key: adminKey })
  queue = await scratchQueue()
})
afterAll(async () => {
  await queue.close()
  await serving.end()
})

// biome-ignore lint/suspicious/noExplicitAny: each call is made with arguments that its types refuse
type Call = (...given: any[]) => unknown

/** Calls a method of what a handler is given, in a handler. */
const inHandler = (method: 'step' | 'once' | 'waitFor'): Call => {
  return async (...given) => {
    const type = defineType({ type: 'mail', run: (_, context) => (context[method] as Call)(...given) })
    const { error } = await runJob(type, {}, { maxAttempts: 1 })
    throw error ?? new Error('nothing was refused')
  }
}
const stopOf = (start: () => Promise<{ stop(options?: object): Promise<void> }>): Call => {
  return async (options) => {
    const worker = await start()
    await worker.stop(options).finally(() => worker.stop({ now: true }))
  }
}

/** Where the methods of each class are called. */
const instances: Record<string, () => object> = {
  Access: () => holdfast.access,
  Alerts: () => holdfast.alerts,
  Batches: () => holdfast.batches,
  Builds: () => holdfast.flow.builds,
  BulkActions: () => holdfast.bulkActions,
  DeadLetters: () => holdfast.deadLetters,
  ErrorGroups: () => holdfast.errorGroups,
  Events: () => holdfast.events,
  Executions: () => holdfast.executions,
  Flow: () => holdfast.flow,
  Holdfast: () => holdfast,
  Holdfasts: () => holdfasts,
  JobType: () => mail,
  Schedules: () => holdfast.schedules,
  ScratchQueue: () => queue,
  HoldfastClient: () => client,
  ClientAccess: () => client.access,
  ClientAlerts: () => client.alerts,
  ClientBatches: () => client.batches,
  ClientBuilds: () => client.flow.builds,
  ClientBulkActions: () => client.bulkActions,
  ClientDeadLetters: () => client.deadLetters,
  ClientErrorGroups: () => client.errorGroups,
  ClientEvents: () => client.events,
  ClientExecutions: () => client.executions,
  ClientFlow: () => client.flow,
  ClientSchedules: () => client.schedules,
}

const functions: Record<string, Call> = {
  'Holdfast.constructor': (options) => new Holdfast(options),
  'Holdfasts.constructor': (options) => new Holdfasts(options),
  'HoldfastClient.constructor': (options) => new HoldfastClient(options),
  'JobType.job': (payload, options) => holdfast.enqueueMany([mail.job(payload, options)]),
  'RunContext.step': inHandler('step'),
  'RunContext.once': inHandler('once'),
  'RunContext.waitFor': inHandler('waitFor'),
  'Worker.stop': stopOf(() => startWorker(queue.holdfast, [mail], { logger: quiet })),
  'Workers.stop': stopOf(() =>
    startWorkers(new Holdfasts({ members: { one: queue.connectionString } }), [mail], { logger: quiet }),
  ),
  'RemoteWorker.stop': stopOf(() => startRemoteWorker({ url: serving.address, key: adminKey }, [mail], { logger: quiet })),
  ...{ createHandler, createPlugin, createServer, defineDependency, defineSchedule, defineType, defineWorkflow, runJob },
  ...{ scratchQueue, startPostgres, smoke, startRemoteWorker, startWorker, startWorkers },
}

/** What is given for parameters, by their names, where a call says nothing of its own. */
const samples: Record<string, unknown> = {
  ...{
    id,
    job: id,
    name: 'mail',
    type: 'mail',
    build: 'b1',
    key: 'k',
    lane: 'batch',
    from: 'mail',
    member: 'eu',
    workflow: 'order',
  },
  ...{ time: { delay: '1m' }, range: { from: new Date(0), to: new Date(1) }, filter: { type: 'mail' } },
  ...{ who, payload: {}, input: {}, run() {}, priority: 5, weight: 2, subject: 'CN=mail', other: 'batch', into: 'batch' },
  ...{ schedules: [], jobs: [], requests: [mail.job({})], types: [mail], source: [mail], schedule: 'nightly', fingerprint: 'f' },
  ...{ where: 'queue', dependency: 'smtp', action: 'open', execution: id, holdfast, holdfasts, service: 'billing' },
}

/** What else a call needs, each by the name of its parameter, and the members that its options cannot be without. */
const needs: Record<string, Record<string, unknown>> = {
  Access: { id: 7, fields: { service: 'billing', roles: ['producer'] } },
  Alerts: { id: 7 },
  ClientAccess: { id: 7, person: 'person:ada@example.com' },
  ClientAlerts: { id: 7 },
  ClientFlow: { id: 7 },
  'Flow.drainWorker': { id: 7 },
  'Flow.resumeWorker': { id: 7 },
  'Access.setRole': { allowed: ['jobs:read'] },
  'Alerts.addTarget': { fields: { url: 'https://hooks.example.com/a' } },
  'Holdfasts.constructor': { options: { members: { eu: connectionString } } },
  'Holdfasts.enqueue': { options: { member: 'eu' } },
  'Holdfasts.drainMember': { name: 'eu' },
  'Holdfasts.openMember': { name: 'eu' },
  'Schedules.create': { definition: { name: 'nightly', cron: '0 3 * * *', type: 'mail' } },
  defineType: { definition: { type: 'mail' } },
  defineWorkflow: { definition: { name: 'order', version: 1, tasks: (task: Call) => void task('pack', { run() {} }) } },
  DeadLetters: { filter: { all: true } },
  ClientErrorGroups: { fingerprint: '0123456789abcdef' },
  Holdfasts: { id: `eu:${id}`, job: `eu:${id}` },
}

/** What takes an object that is no options, and errors: one that throws where it is made would hide the failure it tells of. */
const others = /^\w*Error\.constructor \w+$|^Flow\.limitDepth where$|^Holdfasts\.wait job$|^ClientExecutions\.start workflow$/

const cases = publicOptions().filter(({ call, name }) => !others.test(`${call} ${name}`))

test('there are the calls that are known to take options', () => {
  const named = cases.map(({ call, name }) => `${call} ${name}`)
  for (const one of ['Schedules.prune options', 'Holdfast.enqueue options', 'RunContext.waitFor options', 'Worker.stop options'])
    expect(named).toContain(one)
  for (const one of [
    'scratchQueue options',
    'ScratchQueue.assertEnqueued expectation',
    'createPlugin options',
    'ClientFlow.pauseType options',
  ])
    expect(named).toContain(one)
  expect(named.length).toBeGreaterThan(250)
})

describe('an option that nobody knows is refused by', () => {
  test.each(cases)('$call, in its $name', async ({ call, at, name, parameters }) => {
    const [owner = '', method = ''] = call.split('.')
    const own = { ...needs[owner], ...needs[call] } as Record<string, unknown>
    const given = parameters.map((parameter, place) => {
      if (parameter !== name) return own[parameter] ?? samples[parameter] ?? (place < at ? {} : undefined)
      return { ...((own[parameter] ?? (name === 'who' ? who : {})) as object), nobodyKnows: 1 }
    })
    const subject = instances[owner]?.() as Record<string, Call> | undefined
    const perform = functions[call] ?? subject?.[method]?.bind(subject)
    if (!perform) throw new Error(`say in this file where ${call} is called`)
    const error = await Promise.resolve()
      .then(() => perform(...given))
      .then(
        () => new Error('nothing was refused'),
        (thrown: unknown) => thrown as Error,
      )
    expect(error).toMatchObject({ code: expect.stringMatching(/^invalid_(?:option|configuration)$/) })
    expect(`${(error as HoldfastError).issues.map(({ path }) => path.join('.'))} ${error.message}`).toContain('nobodyKnows')
  })
})
