import { describe, expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { makeQueue, type Queue, work } from '../support/queue.js'
import { openTcpProxy } from '../support/severed-proxy.js'

async function completed({ holdfast }: Queue, id: string) {
  return eventually(
    async () => {
      const story = await holdfast.job(id)
      return story?.status === 'completed' && story
    },
    { within: 60_000 },
  )
}

describe('a lease lasts as long as its worker lives', () => {
  test('a handler that blocks the event loop for three leases runs once, and so does one that waits for five', async () => {
    const queue = await makeQueue()
    const lease = '3s'
    await Promise.all([1, 2].map(() => queue.worker({ lease, concurrency: 1 })))
    const jobs = await queue.holdfast.enqueueMany([work.job({ busyMs: 9_500 }), work.job({ ms: 15_500 })])
    await eventually(() => queue.ledger.starts().length === 2)
    const rescuer = await queue.worker({ lease })
    for (const { id } of jobs) expect((await completed(queue, id)).attempts).toMatchObject([{ attempt: 1, outcome: 'completed' }])
    expect(queue.ledger.starts()).toHaveLength(2)
    expect(rescuer.said.filter(({ event }) => event === 'lease.rescued')).toEqual([])
  }, 90_000)

  test('but not for ever: a handler that blocks the event loop past its timeout loses its job to another worker', async () => {
    const queue = await makeQueue()
    const types = [{ type: 'work', timeout: '1s' }]
    const stuck = await queue.worker({ name: 'stuck' }, { types })
    const { id } = await queue.holdfast.enqueue('work', { busyMs: 600_000, busyUntil: 1 })
    await eventually(() => queue.ledger.starts(id).length === 1)
    await queue.worker({ name: 'other' }, { types })
    const { attempts } = await completed(queue, id)
    expect(attempts).toMatchObject([
      { attempt: 1, outcome: 'lease_expired', worker: 'stuck' },
      { attempt: 2, outcome: 'completed', worker: 'other' },
    ])
    expect(stuck.gone()).toBe(false)
  }, 90_000)

  test('extendLease holds it through a silence of the worker', async () => {
    const queue = await makeQueue()
    const worker = await queue.worker()
    const { id } = await queue.holdfast.enqueue('work', { extend: '1m', hold: queue.ledger.beside('go') })
    await eventually(async () => (await queue.sql("select from holdfast.leases where expires_at > now() + '30s'")).length === 1)
    worker.freeze()
    const rescuer = await queue.worker()
    await eventually(
      async () => (await queue.sql("select from holdfast.leases where claimed_at < now() - interval '4s'")).length === 1,
    )
    // The rescuer proves that it rescues: a lease of another dead worker goes, this one stays.
    await queue.sql("insert into holdfast.leases select 1000000, 1000000, now(), now(), '{}'")
    await eventually(async () => (await queue.sql('select from holdfast.leases where id = 1000000')).length === 0)
    worker.thaw()
    queue.ledger.open('go')
    expect((await completed(queue, id)).attempts).toMatchObject([{ attempt: 1, outcome: 'completed' }])
    expect(rescuer.said.filter(({ event }) => event === 'lease.rescued')).toEqual([])
  }, 60_000)
})

describe('a worker that was silent for longer than its lease', () => {
  test('has lost its job: its handler is told, its late result changes nothing and is counted', async () => {
    const queue = await makeQueue()
    const zombie = await queue.worker({ name: 'zombie' })
    const jobs = await queue.holdfast.enqueueMany([
      { type: 'work', payload: { hold: queue.ledger.beside('go'), which: 'finishes all the same' } },
      { type: 'work', payload: { hold: queue.ledger.beside('never'), heed: true, which: 'heeds the signal' } },
    ])
    await eventually(() => queue.ledger.starts().length === 2)
    zombie.freeze()
    const second = await queue.worker({ name: 'second' })
    await eventually(() => queue.ledger.starts().length === 4)
    zombie.thaw()
    const thawedAt = performance.now()

    // Within one heartbeat, which is a quarter of the lease; the rest is for a busy machine.
    const told = await eventually(() => {
      const aborted = queue.ledger.entries().filter((entry) => entry.kind === 'aborted')
      return aborted.length === 2 && aborted
    })
    expect(performance.now() - thawedAt).toBeLessThan(500 + 10_000)
    for (const { reason, pid, attempt } of told) {
      expect({ reason, pid, attempt }).toEqual({ reason: 'LeaseLostError', pid: zombie.pid, attempt: 1 })
    }
    queue.ledger.open('go')
    queue.ledger.open('never')
    for (const { id } of jobs) {
      expect((await completed(queue, id)).attempts).toMatchObject([
        { attempt: 1, outcome: 'lease_expired', worker: 'zombie' },
        { attempt: 2, outcome: 'completed', worker: 'second' },
      ])
      await zombie.heard('settle.late', ({ job }) => job === id)
    }
    expect(zombie.complaints()).toContain('settle.late')
    const rows = await queue.sql('select id, count(*)::int as rows from holdfast.jobs group by id')
    expect(rows.map(({ rows }) => rows)).toEqual([1, 1])
    expect(second.said.filter(({ event }) => event === 'settle.late')).toEqual([])
  }, 60_000)

  test('cannot settle what another worker is running now, however soon it tries', async () => {
    const queue = await makeQueue()
    const zombie = await queue.worker({ name: 'zombie' })
    // Blocks the event loop, so that it settles before it can hear that its lease is gone.
    const { id } = await queue.holdfast.enqueue('work', {
      busyMs: 1_500,
      busyUntil: 1,
      hold: queue.ledger.beside('go'),
      holdFrom: 2,
    })
    await eventually(() => queue.ledger.starts(id).length === 1)
    zombie.freeze()
    await queue.worker({ name: 'second' })
    await eventually(() => queue.ledger.starts(id).length === 2)
    zombie.thaw()
    await zombie.heard('settle.late', ({ job }) => job === id)
    expect(queue.ledger.finishes(id)).toMatchObject([{ attempt: 1, pid: zombie.pid }])
    expect(await queue.holdfast.job(id)).toMatchObject({
      status: 'processing',
      attempt: 2,
      attempts: [{ outcome: 'lease_expired' }],
    })
    queue.ledger.open('go')
    expect((await completed(queue, id)).attempts).toMatchObject([
      { attempt: 1, outcome: 'lease_expired', worker: 'zombie' },
      { attempt: 2, outcome: 'completed', worker: 'second' },
    ])
  }, 60_000)
})

test('a process of the same host, pid and name never inherits a lease: the old one runs out', async () => {
  const queue = await makeQueue()
  const first = await queue.worker({ name: 'web-1' })
  const { id } = await queue.holdfast.enqueue('work', { hold: queue.ledger.beside('go') })
  await eventually(() => queue.ledger.starts(id).length === 1)
  const [held] = await queue.sql('select worker_id from holdfast.leases')
  await first.kill()
  // A pid cannot be had again on order, so the dead worker is given the one of its successor.
  const next = await queue.worker({ name: 'web-1' })
  await queue.sql('update holdfast.workers set pid = $1', [next.pid])
  await eventually(() => queue.ledger.starts(id).length === 2)
  queue.ledger.open('go')
  const { attempts } = await completed(queue, id)
  expect(attempts.map(({ outcome }) => outcome)).toEqual(['lease_expired', 'completed'])
  const workers = await queue.sql('select worker_id from holdfast.history order by attempt')
  expect(workers[0]?.worker_id).toBe(held?.worker_id)
  expect(workers[1]?.worker_id).not.toBe(held?.worker_id)
})

test('a claim whose answer is lost on the way loses no job and spends no attempt: its worker hands back what it never heard of', async () => {
  const queue = await makeQueue()
  const proxy = await openTcpProxy(queue.url)
  const jobs = await queue.holdfast.enqueueMany(Array.from({ length: 5 }, () => work.job({})))
  const lost = proxy.loseAnswerTo('claimJobs')
  const worker = await queue.worker({}, { database: proxy.url })
  await lost
  for (const { id } of jobs) {
    expect((await completed(queue, id)).attempts.map(({ outcome }) => outcome)).toEqual(['completed'])
  }
  expect(queue.ledger.starts()).toHaveLength(5)
  expect(worker.gone()).toBe(false)
})
