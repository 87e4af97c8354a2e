import { type AnyJobType, defineType } from 'holdfast'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { ended, working } from '../support/remote-worker.js'
import { serve } from '../support/serving.js'
import { startHere } from '../support/worker-here.js'

// biome-ignore lint/suspicious/noExplicitAny: what comes back is what is tested
type Answer = any
const who = { by: 'ada', why: 'tested' }
const patient = { timeout: 60_000 }

/** The type as it was at one time; each notes what its handler was given. */
function ofVersion(version: number, ran: unknown[] = []): AnyJobType {
  const upcast = Object.fromEntries(Array.from({ length: version - 1 }, (_, n) => [n + 1, (payload: unknown) => payload]))
  const run = (payload: unknown) => void ran.push(payload)
  return defineType({ type: 'greet', version, upcast, maxAttempts: 1, run }) as AnyJobType
}

async function server() {
  const serving = await serve()
  onTestFinished(() => serving.end())
  const { holdfast } = serving
  await holdfast.access.setRole('keeper', ['jobs:work', 'types:manage'], who)
  const keyOf = async (role: string) => (await holdfast.access.createKey({ service: role, roles: [role] }, who)).key
  const [plain, keeper] = [await keyOf('worker'), await keyOf('keeper')]
  const ask = async (path: string, body: object, key = plain): Promise<Answer> => {
    const response = await serving.call('POST', `/worker/${path}`, body, key)
    return { http: response.status, ...((await response.json()) as Answer) }
  }
  const register = (versions?: object, more: object = {}, key = plain) =>
    ask('register', { name: 'w', types: ['greet'], ...(versions && { payload_versions: versions }), ...more }, key)
  const claim = async ({ worker }: Answer) => (await ask('claim', { worker, limit: 10 })).jobs.map(({ id }: Answer) => id)
  const statusOf = async (id: string) => (await holdfast.job(id))?.status
  const greetVersion = async () => (await holdfast.flow.type('greet'))?.version
  return { serving, holdfast, ask, register, claim, plain, keeper, statusOf, greetVersion }
}
const newerThan = (known: number) => ({
  gate: 'version',
  why: `its payload is of version 2, and no worker knows a newer one of greet than ${known}`,
})

test(
  'a remote worker leaves jobs alone that are too new for it, also behind a limit, and one that knows them takes them',
  patient,
  async () => {
    const { serving, holdfast } = await server()
    const [byOld, byNew]: [unknown[], unknown[]] = [[], []]
    const [old, next] = [ofVersion(1, byOld), ofVersion(2, byNew)]
    await holdfast.registerTypes([next], { update: true })
    await working(serving, [old])
    const newer = await holdfast.enqueueMany([1, 2, 3].map((n) => next.job({ n })))
    await ended(serving, (await holdfast.enqueue(old, { n: 4 })).id)
    await holdfast.flow.limit('greet', { maxRunning: 2 }, who)
    await ended(serving, (await holdfast.enqueue(old, { n: 5 })).id)
    for (const { id } of newer) {
      expect(await holdfast.job(id)).toMatchObject({ status: 'pending', attempts: [] })
      expect((await holdfast.explain(id))?.gates[0]).toMatchObject(newerThan(1))
    }
    await working(serving, [next])
    for (const { id } of newer) expect(await ended(serving, id)).toMatchObject({ status: 'completed' })
    expect([byOld, byNew]).toEqual([
      [{ n: 4 }, { n: 5 }],
      [{ n: 1 }, { n: 2 }, { n: 3 }],
    ])
    expect(await holdfast.job(newer[0]?.id as string)).toMatchObject({ attempts: [{ attempt: 1, outcome: 'completed' }] })
  },
)

test('a job that is newer than every worker is blocked until a remote worker comes that knows its version', patient, async () => {
  const { serving, holdfast, statusOf, keeper, greetVersion } = await server()
  const ran: unknown[] = []
  await working(serving, [ofVersion(1, ran)])
  const { id } = await holdfast.enqueue(ofVersion(2), { n: 1 })
  expect(await statusOf(id)).toBe('blocked')
  expect((await holdfast.explain(id))?.gates).toMatchObject([newerThan(1)])
  await working(serving, [ofVersion(2, ran)], {}, keeper)
  expect(await ended(serving, id)).toMatchObject({ status: 'completed' })
  expect([ran, await greetVersion()]).toEqual([[{ n: 1 }], 2])
  expect((await holdfast.audit({ target: 'greet' }))[0]).toMatchObject({
    ...{ actor: 'keeper', action: 'change_type', before: { version: 1 }, after: { version: 2 } },
  })
})

test(
  'a job that is given a newer payload while it stands in the queue is put off, counts no snooze, and waits for a worker that knows it',
  patient,
  async () => {
    const { holdfast, register, claim, statusOf, serving } = await server()
    await holdfast.registerTypes([ofVersion(1)])
    const unique = { key: 'one', onConflict: 'replace' } as const
    const { id } = await holdfast.enqueue(ofVersion(1), {}, { unique })
    await holdfast.enqueue(ofVersion(2), {}, { unique })
    const worker = await register({ greet: 1 })
    expect(await claim(worker)).toEqual([])
    expect(await statusOf(id)).toBe('scheduled')
    await holdfast.runNow(id, who)
    await eventually(async () => (await statusOf(id)) === 'blocked')
    expect(await claim(worker)).toEqual([])
    const { rows } = await serving.sql.query('select snoozes from holdfast.rounds_of($1)', [id])
    expect(rows).toEqual([{ snoozes: '0' }])
  },
)

test('a worker in another language is given what it says it knows, and every job where it says nothing', async () => {
  const { holdfast, register, ask, claim } = await server()
  await holdfast.registerTypes([ofVersion(2)], { update: true })
  const [newer, older] = await holdfast.enqueueMany([ofVersion(2).job({}), ofVersion(1).job({})])
  const [knowsFirst, saysNothing] = [await register({ greet: 1 }), await register()]
  expect((await holdfast.explain(newer?.id as string))?.gates).not.toContainEqual(expect.objectContaining({ gate: 'version' }))
  expect(await claim(knowsFirst)).toEqual([older?.id])
  const { jobs } = await ask('claim', { worker: saysNothing.worker, limit: 10 })
  expect(jobs).toMatchObject([{ id: newer?.id, version: 2 }])
})

test('a worker that says nothing beside one that knows an older version keeps jobs from being called too new', async () => {
  const { serving, holdfast, register } = await server()
  await holdfast.registerTypes([ofVersion(2)], { update: true })
  await startHere(serving, [ofVersion(1)])
  const { id } = await holdfast.enqueue(ofVersion(2), {})
  expect((await holdfast.explain(id))?.gates[0]).toMatchObject(newerThan(1))
  await register()
  expect((await holdfast.explain(id))?.gates).not.toContainEqual(expect.objectContaining({ gate: 'version' }))
})

test('only a key with types:manage registers a newer version of a known type; of a new one whoever defines it', async () => {
  const { holdfast, register, keeper, greetVersion } = await server()
  await holdfast.registerTypes([ofVersion(1)])
  expect(await register({ greet: 3 })).toMatchObject({
    ...{
      http: 403,
      code: 'forbidden',
      field: 'payload_versions.greet',
      detail: expect.stringMatching(/version 1 .*version 3 .*types:manage/),
    },
  })
  expect(await greetVersion()).toBe(1)
  expect((await register({ greet: 3 }, {}, keeper)).http).toBe(201)
  for (const version of [1, 3]) expect((await register({ greet: version })).http).toBe(201)
  expect(await greetVersion()).toBe(3)
  const types = ['greet', { type: 'wave', max_attempts: 2 }]
  expect((await register({ greet: 2, wave: 4 }, { types })).http).toBe(201)
  expect((await holdfast.flow.type('wave'))?.version).toBe(4)
  expect(await register({ gret: 1 })).toMatchObject({
    http: 400,
    field: 'payload_versions.gret',
    detail: expect.stringContaining('greet'),
  })
  for (const bad of [0, 32_768, 1.5, '2']) {
    expect(await register({ greet: bad })).toMatchObject({ http: 400, field: 'payload_versions.greet' })
  }
})
