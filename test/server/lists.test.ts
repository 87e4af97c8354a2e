import { defineType } from 'holdfast'
import { HoldfastClient } from 'holdfast/client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Contract, contractOf } from '../support/contract.js'
import { type Serving, serve } from '../support/serving.js'

const who = { by: 'ada' }
const greet = defineType({ type: 'greet', run() {} })
const other = defineType({ type: 'other' })

let serving: Serving
let call: Contract
let billing: string
let shipping: string
let operator: string

beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([greet, other])
  call = await contractOf(serving, { comesBack: true })
  const key = async (service: string, role: string) =>
    (await serving.holdfast.access.createKey({ service, roles: [role] }, who)).key
  billing = await key('billing', 'producer')
  shipping = await key('shipping', 'producer')
  operator = await key('on-call', 'operator')
})
afterAll(() => serving.end())

async function enqueue(job: object = {}, key = billing): Promise<string> {
  return (await call('POST', '/jobs', { type: 'greet', payload: {}, delay: '1h', ...job }, key)).body.id
}

describe('GET /jobs', () => {
  test('lists the jobs of one’s own service only; those who look after all see all', async () => {
    const [mine] = [await enqueue({}, shipping), await enqueue({}, billing)]
    const own = (await call('GET', '/jobs?limit=100', undefined, shipping)).body.jobs
    expect(own.map((job: { owner: string }) => job.owner)).toEqual(['shipping'])
    expect(own[0].id).toBe(mine)
    const all = (await call('GET', '/jobs?limit=100', undefined, operator)).body.jobs
    expect(new Set(all.map((job: { owner: string }) => job.owner)).size).toBeGreaterThan(1)
    expect((await call('GET', '/jobs?owner=shipping', undefined, operator)).body.jobs).toHaveLength(1)
    expect((await call('GET', '/jobs?owner=billing', undefined, shipping)).status).toBe(403)
  })

  test('filters by type, status, time and what the payload holds', async () => {
    const { id } = await serving.holdfast.enqueue(
      other,
      { tenant: 7, deep: { tags: ['a', 'b'] } },
      {
        ...{ delay: '1h', concurrencyKey: 'acme' },
      },
    )
    const found = async (query: string) => (await call('GET', `/jobs?${query}`)).body.jobs.map((job: { id: string }) => job.id)
    const part = encodeURIComponent('{"deep":{"tags":["b"]}}')
    expect(await found(`payload=${part}`)).toEqual([id])
    expect(await found(`payload=${part}&type=greet`)).toEqual([])
    expect(await found(`payload=${part}&status=scheduled&created_after=2020-01-01T00:00:00Z`)).toEqual([id])
    expect(await found(`payload=${part}&status=completed`)).toEqual([])
    expect(await found(`payload=${part}&created_before=2020-01-01T00:00:00Z`)).toEqual([])
    expect(await found('lane=default&concurrency_key=acme')).toEqual([id])
    expect(await found('concurrency_key=acm')).toEqual([])
    expect((await call('GET', '/jobs?concurrency_key=%00')).status).toBe(400)
    expect((await call('GET', '/jobs?lane=unheard_of')).status).toBe(422)
    expect((await call('GET', '/jobs?type=unheard_of')).status).toBe(422)
  })

  test('comes in pages that meet every job once, newest first, while more are added', async () => {
    const service = (await serving.holdfast.access.createKey({ service: 'paging', roles: ['producer'] }, who)).key
    const ids: string[] = []
    for (let n = 0; n < 7; n++) ids.push(await enqueue({}, service))
    const seen: string[] = []
    for (let cursor = ''; ; ) {
      const { body } = await call('GET', `/jobs?limit=3${cursor && `&cursor=${cursor}`}`, undefined, service)
      seen.push(...body.jobs.map((job: { id: string }) => job.id))
      await enqueue({}, service)
      if (body.next === null) break
      cursor = body.next
    }
    expect(seen).toEqual(ids.toReversed())
  })
})

describe('GET /events', () => {
  test('has what happened to the jobs of one’s own service, and of all for those who look after all', async () => {
    const { next } = (await call('GET', '/events?after=now', undefined, shipping)).body
    const [mine, theirs] = [await enqueue({}, shipping), await enqueue({ tags: ['eu'] }, billing)]
    await call('DELETE', `/jobs/${mine}?why=late`, undefined, shipping)
    await call('DELETE', `/jobs/${theirs}`, undefined, billing)
    const own = (await call('GET', `/events?after=${next}`, undefined, shipping)).body
    expect(own.events).toEqual([
      {
        ...{ kind: 'cancelled', cursor: expect.any(String), job: mine, type: 'greet', tags: [], owner: 'shipping', attempt: 1 },
        ...{
          at: expect.stringMatching(/Z$/),
          error: { name: 'Cancelled', message: expect.stringMatching(/^cancelled by .*late$/) },
        },
      },
    ])
    const all = (await call('GET', `/events?after=${next}&type=greet&kind=cancelled`, undefined, operator)).body.events
    expect(all.map((event: { job: string }) => event.job)).toEqual([mine, theirs])
    const rest = (await call('GET', `/events?after=${own.events[0].cursor}&limit=1`, undefined, operator)).body
    expect(rest.events).toMatchObject([{ job: theirs, tags: ['eu'] }])
    expect((await call('GET', '/events?after=99999999999')).status).toBe(410)
    expect((await call('GET', '/events?kind=exploded')).body.field).toBe('kind')
  })

  test('is followed by the client', async () => {
    const client = new HoldfastClient({ url: serving.address, key: shipping })
    const { next } = await client.events.page({ after: 'now' })
    const ids = [await enqueue({}, shipping), await enqueue({}, shipping)]
    for (const id of ids) await client.cancel(id)
    const seen: string[] = []
    for await (const { job } of client.events.follow({ after: next, kind: 'cancelled', pollMs: 10 })) {
      if (seen.push(job) === 2) break
    }
    expect(seen).toEqual(ids)
  })
})
