import { defineType, Holdfast } from 'holdfast'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import { startWorker } from 'holdfast/worker'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const by = { by: 'ada' }
const known = defineType({ type: 'known', run() {} })
let scratch: ScratchDatabase
let holdfast: Holdfast

beforeAll(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  holdfast = new Holdfast({ connectionString: scratch.connectionString })
  await holdfast.registerTypes([known])
})
afterAll(async () => {
  await holdfast.close()
  await scratch.drop()
})

type Ask = (text: string) => unknown

const asks: [field: string, what: string, ask: Ask][] = [
  ['type', 'enqueue', (type) => holdfast.enqueueMany([{ type, payload: {} }])],
  ['idempotencyKey', 'enqueue', (idempotencyKey) => holdfast.enqueue(known, {}, { idempotencyKey })],
  ['concurrencyKey', 'enqueue', (concurrencyKey) => holdfast.enqueue(known, {}, { concurrencyKey })],
  ['unique.key', 'enqueue', (key) => holdfast.enqueue(known, {}, { unique: { key } })],
  ['unique.by', 'enqueue', (field) => holdfast.enqueue(known, {}, { unique: { by: [field] } })],
  ['unique.by', 'defineType', (field) => defineType({ type: 'other', unique: { by: [field] } })],
  ['type', 'defineType', (type) => defineType({ type })],
  ['lane', 'defineType', (lane) => defineType({ type: 'other', lane })],
  ['redact', 'defineType', (path) => defineType({ type: 'other', redact: [path] })],
  ['searchable', 'defineType', (path) => defineType({ type: 'other', searchable: [path] })],
  ['type', 'cancelMany', (type) => holdfast.cancelMany({ type }, by)],
  ['lane', 'cancelMany', (lane) => holdfast.cancelMany({ lane }, by)],
  ['concurrencyKey', 'cancelMany', (concurrencyKey) => holdfast.cancelMany({ concurrencyKey }, by)],
  ['by', 'cancelMany', (name) => holdfast.cancelMany({ all: true }, { by: name })],
  ['why', 'cancelMany', (why) => holdfast.cancelMany({ all: true }, { by: 'ada', why })],
  ['type', 'flow.gate', (type) => holdfast.flow.gate(type)],
  ['lane', 'flow.setLane', (lane) => holdfast.flow.setLane(lane, { slots: 1 }, by, { create: true })],
  ['lane', 'flow.drainLane', (lane) => holdfast.flow.drainLane(lane, by)],
  ['type', 'flow.moveType', (type) => holdfast.flow.moveType(type, 'default', { by: 'ada' })],
  ['lane', 'flow.moveType', (lane) => holdfast.flow.moveType('known', lane, { by: 'ada' })],
  ['type', 'flow.limit', (type) => holdfast.flow.limit(type, { maxRunning: 1 }, { by: 'ada' })],
  ['type', 'flow.limitDepth', (type) => holdfast.flow.limitDepth({ type }, { hard: 1 }, { by: 'ada' })],
  ['lane', 'flow.limitDepth', (lane) => holdfast.flow.limitDepth({ lane }, { hard: 1 }, { by: 'ada' })],
  ['type', 'flow.keys', (type) => holdfast.flow.keys(type)],
  ['key', 'flow.keys', (key) => holdfast.flow.keys('known', key)],
  ['type', 'flow.pauseType', (type) => holdfast.flow.pauseType(type, by)],
  ['type', 'flow.resumeType', (type) => holdfast.flow.resumeType(type, { by: 'ada' })],
  ['key', 'flow.pauseKey', (key) => holdfast.flow.pauseKey('known', key, by)],
  ['key', 'flow.resumeKey', (key) => holdfast.flow.resumeKey('known', key, { by: 'ada' })],
  ['key', 'flow.setWeight', (key) => holdfast.flow.setWeight('known', key, 2, { by: 'ada' })],
  ['type', 'flow.breaker', (type) => holdfast.flow.breaker(type, 'open', by)],
  ['type', 'deadLetters.list', (type) => holdfast.deadLetters.list({ type })],
  ['error', 'deadLetters.list', (error) => holdfast.deadLetters.list({ error })],
  ['actor', 'audit', (actor) => holdfast.audit({ actor })],
  ['target', 'audit', (target) => holdfast.audit({ target })],
  ['service', 'access.createKey', (service) => holdfast.access.createKey({ service, roles: ['producer'] }, by)],
  ['roles', 'access.createKey', (role) => holdfast.access.createKey({ service: 'a', roles: [role] }, by)],
  ['types', 'access.createKey', (type) => holdfast.access.createKey({ service: 'a', roles: ['producer'], types: [type] }, by)],
  ['service', 'access.keys', (service) => holdfast.access.keys(service)],
  ['name', 'access.dropRole', (name) => holdfast.access.dropRole(name, by)],
  ['name', 'alerts.dropRule', (name) => holdfast.alerts.dropRule(name, by)],
  ['type', 'alerts.setRule', (type) => holdfast.alerts.setRule('a', { kind: 'dead_letters', threshold: 1, type } as never, by)],
  ['name', 'a worker', (name) => startWorker(holdfast, [known], { name })],
]

describe('a text that no database can keep is refused by the name of its field', () => {
  it.each(asks)('%s of %s', async (field, _, ask) => {
    for (const text of ['a\0b', 'a\ud800b']) {
      const error = await (async () => ask(text))().then(
        () => undefined,
        (thrown) => thrown,
      )
      expect(error?.code, String(error)).toMatch(/^invalid_(option|configuration)$/)
      expect(error.message).toContain(field)
    }
  })
})
