import { Holdfast } from 'holdfast'
import { HoldfastClient } from 'holdfast/client'
import { afterAll, expect, test } from 'vitest'

const holdfast = new Holdfast({ connectionString: 'postgres://127.0.0.1:1/nothing' })
afterAll(() => holdfast.close())

/** Every method of an object by its path, such as `flow.pauseType`, those of the objects that it holds too. */
function methodsOf(from: object, path = ''): string[] {
  const names = new Set(Object.keys(from))
  for (let one = Object.getPrototypeOf(from); one !== Object.prototype; one = Object.getPrototypeOf(one))
    for (const name of Object.getOwnPropertyNames(one)) names.add(name)
  return [...names].flatMap((name) => {
    const value = (from as Record<string, unknown>)[name]
    if (name === 'constructor' || value === null || value === undefined) return []
    if (typeof value === 'function') return [path + name]
    return isPlain(value) ? [] : methodsOf(value, `${path}${name}.`)
  })
}

const isPlain = (value: unknown): boolean =>
  typeof value !== 'object' || Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype

/** Where the client has another name for it. */
const otherwise: Record<string, string> = {
  audit: 'access.audit',
  bulk: 'enqueueMany',
  start: 'executions.start',
  cancelMany: 'bulkActions.create',
  setPriorityMany: 'bulkActions.create',
  rescheduleMany: 'bulkActions.create',
  runNowMany: 'bulkActions.create',
  buryMany: 'bulkActions.create',
  'flow.gate': 'flow.type',
  'flow.gates': 'flow.types',
  'flow.drainLane': 'flow.setLane',
  'flow.resumeLane': 'flow.setLane',
  'flow.dependency': 'flow.dependencies',
  'access.sessions.endOf': 'access.endSessions',
  'alerts.callers': 'alerts.get',
  'alerts.firing': 'alerts.get',
  'alerts.rules': 'alerts.get',
  'alerts.rotateSecret': 'alerts.rotateTarget',
  'batches.of': 'batches.list',
  'executions.overview': 'executions.get',
  'schedules.define': 'schedules.create',
  'schedules.explain': 'schedules.get',
}
/** What has no place in a client, and why. */
const never: Record<string, string> = {
  migrate: 'it makes the schema that the server needs',
  grantRoles: 'it is done by whoever owns the database',
  reencrypt: 'the keys are in the process that does it',
  archive: 'it reads the database whole days at a time',
  registerTypes: 'a worker registers its handlers, and flow.defineType defines a type without one',
  close: 'a client holds nothing open',
  'flow.builds.tellWorker': 'flow.drainWorker and flow.resumeWorker call it',
  'access.sessions.open': 'the server opens a session for a browser',
  'access.sessions.find': 'the server looks with it who a browser is',
  'access.sessions.end': 'the server ends the session of a browser that logs out',
  'access.caller': 'the server looks with it whose a key is',
  'access.callerOfCertificate': 'the server looks with it whose a certificate is',
  'access.spendRequests': 'servers share with it what a service may ask of all of them',
  'alerts.look': 'workers and servers look for what fires by themselves',
  'events.open': 'events.follow begins with it',
  'executions.register': 'a workflow is code, which a worker registers',
  'executions.workflow': 'a workflow is code, which a worker registers',
}

test('what the library can do the client can do under the same name, or under one that stands here', () => {
  const [ours, theirs] = [methodsOf(holdfast), new Set(methodsOf(new HoldfastClient({ url: 'http://127.0.0.1:1', key: 'k' })))]
  expect(ours.length).toBeGreaterThan(100)
  expect(ours.filter((name) => !(name in never) && !theirs.has(otherwise[name] ?? name))).toEqual([])
  // None of these is left over.
  expect([...Object.keys(otherwise), ...Object.keys(never)].filter((name) => !ours.includes(name) || theirs.has(name))).toEqual(
    [],
  )
})
