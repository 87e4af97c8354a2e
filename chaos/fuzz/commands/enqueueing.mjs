// Enqueue in all its forms.
import { setTimeout as pause } from 'node:timers/promises'
import fc from 'fast-check'
import { now } from '../../evidence/ledger.mjs'
import { operation, rarely, sometimes } from '../command.mjs'

const how = fc.oneof(
  { weight: 8, arbitrary: fc.constant('ok') },
  { weight: 7, arbitrary: fc.constantFrom('fail', 'once', 'fatal', 'fatal', 'snooze', 'stop_type', 'stop_key') },
  { weight: 2, arbitrary: fc.constant('hang') },
)
/** Where one job stands in the way of another, it matters that it takes long and that it dies. */
const uniqueHow = fc.oneof(
  { weight: 3, arbitrary: fc.constant('hang') },
  { weight: 3, arbitrary: fc.constant('fatal') },
  { weight: 3, arbitrary: how },
)
const ms = fc.constantFrom(0, 5, 30, 150, 400)
const jobOf = ({ types, keys }) => ({
  type: fc.constantFrom(...types),
  key: sometimes(fc.constantFrom(...keys)),
  how,
  ms,
  priority: rarely(fc.constantFrom(0, 9)),
  delay: rarely(fc.constantFrom(50, 300)),
  idempotencyKey: rarely(fc.constantFrom('i1', 'i2')),
})

export function request({
  type: name,
  key: concurrencyKey,
  how: does,
  ms: takes,
  priority,
  delay,
  idempotencyKey,
  unique,
  approval,
}) {
  const payload = { how: does, ms: takes, ...(concurrencyKey ? { key: concurrencyKey } : {}) }
  const options = { priority, delay, idempotencyKey, concurrencyKey, unique, approval }
  const given = Object.entries(options).filter(([, value]) => value !== undefined && value !== null)
  return { type: name, payload, ...Object.fromEntries(given) }
}

/** Answers and what was asked for stand side by side. */
export function acknowledge(world, requests, answers, since, more) {
  const call = { since, until: now() }
  for (const [place, { id, status }] of answers.entries()) {
    world.books.acknowledge(id, status === 'existing' ? {} : requests[place].payload, { ...more, call, place })
  }
}

async function enqueueMany(world, requests, more) {
  const since = now()
  const done = await world.act('enqueueMany', () => world.holdfast.enqueueMany(requests))
  if (done) acknowledge(world, requests, done.value, since, more)
  return done?.value
}

/** A producer whose own transactions are repeatable read may be told to try again; that is its choice. */
const mayConflict = ({ isolation }) => (isolation === 'read committed' ? [] : ['40001', '40P01'])

/** In a transaction of the producer's own, which takes its time and is committed or rolled back. */
async function inTransaction(world, requests, { commit, holdMs }) {
  const client = await world.connection()
  const tolerate = mayConflict(world)
  const since = now()
  try {
    await client.query('begin')
    const done = await world.act('enqueueMany in a transaction', () => world.holdfast.enqueueMany(requests, { tx: client }), {
      tolerate,
    })
    await pause(holdMs)
    if (!done || !commit) {
      await client.query('rollback')
      for (const { id, status } of done?.value ?? [])
        if (['created', 'queued_behind'].includes(status)) world.books.undone.add(id)
      return
    }
    const committed = await world.act('commit', () => client.query('commit'), { tolerate })
    if (committed) acknowledge(world, requests, done.value, since)
  } catch (error) {
    if (!world.inTrouble) world.books.violated(`a transaction that enqueues broke: ${error.message}`)
  } finally {
    client.release(true)
  }
}

/** From plain SQL. */
async function bySql(world, { type: name, payload, priority, delay, concurrencyKey, idempotencyKey, unique }) {
  const options = {
    priority,
    concurrency_key: concurrencyKey,
    idempotency_key: idempotencyKey,
    ...(delay ? { delay: `${delay} milliseconds` } : {}),
    ...(unique ? { unique: { key: unique.key, on_conflict: unique.onConflict } } : {}),
  }
  const ask = () =>
    world.sql('select id::text, status from holdfast.enqueue($1, $2, $3)', [name, payload, JSON.stringify(options)])
  const since = now()
  const done = await world.act('holdfast.enqueue', ask, { tolerate: ['HF409', ...mayConflict(world)] })
  if (done) acknowledge(world, [{ payload }], done.value, since)
}

/** Every policy, with what each of them takes. */
const rule = fc.oneof(
  fc.record({ onConflict: fc.constantFrom('reject', 'existing', 'replace'), period: sometimes(fc.constant('300ms')) }),
  fc.record({
    onConflict: fc.constantFrom('reject', 'existing', 'replace'),
    states: fc.constantFrom(
      ['scheduled', 'pending'],
      ['processing'],
      ['completed', 'dead'],
      ['scheduled', 'pending', 'failed', 'processing'],
    ),
  }),
  fc.constant({ onConflict: 'replace' }),
  fc.record({
    onConflict: fc.constant('debounce'),
    delay: fc.constantFrom('50ms', '300ms'),
    maxWait: sometimes(fc.constant('500ms')),
  }),
  fc.constant({ onConflict: 'one_more' }),
  fc.constant({ onConflict: 'one_more' }),
)
const uniqueOf = ({ uniqueKeys }) =>
  fc.tuple(fc.constantFrom(...uniqueKeys), rule).map(([name, given]) => {
    const fields = Object.entries({ key: name, ...given }).filter(([, value]) => value !== undefined)
    return Object.fromEntries(fields)
  })

function withUnique(given) {
  // A debounced job has its delay from its rule.
  return request(given.unique.onConflict === 'debounce' ? { ...given, delay: undefined } : given)
}

/** Asks for a unique job and, while it runs, for one more. */
async function askAgain(world, given, behind) {
  const [first] = (await enqueueMany(world, [withUnique(given)])) ?? []
  if (!first) return
  const until = now() + 1_000
  const runs = () => world.sql('select from holdfast.queue where job_id = $1 and lease_id is not null', [first.id])
  while (now() < until && (await runs()).length === 0) await pause(10)
  const { key } = given.unique
  await enqueueMany(world, [
    request({ ...given, how: behind, idempotencyKey: undefined, unique: { key, onConflict: 'one_more' } }),
  ])
}

export function enqueueing(domain) {
  const job = jobOf(domain)
  const few = fc.array(fc.record(job), { minLength: 1, maxLength: 6, size: 'max' })
  const { type } = job
  return [
    operation('enqueue', 6, job, (world, given) => enqueueMany(world, [request(given)])),
    operation('enqueueMany', 2, { jobs: few }, (world, { jobs }) => enqueueMany(world, jobs.map(request))),
    operation('enqueueInTx', 3, { jobs: few, commit: fc.boolean(), holdMs: fc.constantFrom(0, 50) }, (world, { jobs, ...rest }) =>
      inTransaction(world, jobs.map(request), rest),
    ),
    operation('enqueueBySql', 2, job, (world, given) => bySql(world, request(given))),
    operation(
      'load',
      3,
      { type, count: fc.integer({ min: 10, max: 60 }), keyed: fc.boolean() },
      (world, { count, keyed, ...of }) => {
        const key = (at) => (keyed ? domain.keys[at % domain.keys.length] : undefined)
        return enqueueMany(
          world,
          Array.from({ length: count }, (_, at) => request({ ...of, key: key(at), how: 'ok', ms: at % 4 })),
        )
      },
    ),
  ]
}

export function uniqueness(domain) {
  const job = { ...jobOf(domain), how: uniqueHow }
  const { delay: _, ...undelayed } = job
  const unique = uniqueOf(domain)
  const inTx = { ...undelayed, unique, commit: fc.boolean(), holdMs: fc.constantFrom(0, 50) }
  const undebounced = { ...undelayed, unique: unique.filter(({ onConflict }) => onConflict !== 'debounce') }
  return [
    operation('enqueueUnique', 10, { ...job, unique }, (world, given) => enqueueMany(world, [withUnique(given)])),
    operation(
      'enqueueBehind',
      5,
      { ...undelayed, ms: fc.constantFrom(30, 400), unique, behind: uniqueHow },
      (world, { behind, ...given }) => askAgain(world, given, behind),
    ),
    operation('enqueueUniqueInTx', 2, inTx, (world, { commit, holdMs, ...given }) =>
      inTransaction(world, [withUnique(given)], { commit, holdMs }),
    ),
    operation('enqueueUniqueBySql', 1, undebounced, (world, given) => bySql(world, request(given))),
  ]
}

const approval = fc
  .record({
    quorum: fc.constantFrom(1, 2),
    deadline: sometimes(fc.constantFrom('50ms', '400ms')),
    onDeadline: fc.constantFrom('cancel', 'approve'),
  })
  .map(({ quorum, deadline, onDeadline }) => ({ quorum, ...(deadline ? { deadline, onDeadline } : {}) }))

export function approvals(domain) {
  return [
    operation('enqueueForApproval', 4, { ...jobOf(domain), approval }, (world, given) =>
      enqueueMany(world, [request(given)], { ends: given.approval.deadline ? ['cancelled'] : [] }),
    ),
  ]
}
