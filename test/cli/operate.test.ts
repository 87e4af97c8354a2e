import { defineType, FatalError } from 'holdfast'
import { expect, test } from 'vitest'
import { reach } from '../support/cli.js'
import { eventually } from '../support/facts.js'
import { startHere } from '../support/worker-here.js'

const mail = defineType({ type: 'mail' })
const broken = defineType({
  type: 'broken',
  run: (payload: { at?: number; fixed?: boolean }) => {
    if (!payload.fixed) throw new FatalError(`no printer at ${payload.at}`)
  },
})

test('holdfast enqueue stores a job, and jobs retry, bury, forget and tail follow it, over the database and over HTTP', async () => {
  const { queue, both, eachWay, http, database } = await reach()
  await queue.holdfast.registerTypes([mail])
  const { next } = await queue.holdfast.events.page({ after: 'now' })
  const stored = await eachWay.http('enqueue', 'mail', '{"to": "ada"}', '--delay', '1h', '--tag', 'vip', '--priority', '7')
  const id = /^Job ([0-9a-f-]{36}) was stored\.$/.exec(stored)?.[1] as string
  expect(await queue.holdfast.job(id)).toMatchObject({ payload: { to: 'ada' }, priority: 7, tags: ['vip'], status: 'scheduled' })
  expect(await both('enqueue', 'mail', '{}', '--id', id)).toMatch(/^1 holdfast: .*/)
  expect(await both('enqueue', 'mail', 'seven')).toMatch(/^2 holdfast: payload is not JSON/)
  expect(await eachWay.database('jobs', 'retry', id)).toBe(`Job ${id} is pending; it was scheduled.`)
  expect(await both('jobs', 'bury', id)).toMatch(/^2 holdfast: nothing was done: pass --yes to bury/)
  expect(await eachWay.http('jobs', 'bury', id, '--yes', '--why', 'later')).toBe(`Job ${id} is dead; it was pending.`)
  for (const type of [http, database]) {
    const stop = new AbortController()
    const seen = await type(['jobs', 'tail', '--after', next, '--kind', 'dead', '--tag', 'vip'], {
      stop: stop.signal,
      watch: () => stop.abort(),
    })
    expect(seen.out).toMatch(new RegExp(`^2\\S+  ${id}  mail  dead  attempt \\d  buried`))
  }
  expect(await eachWay.http('jobs', 'retry', id)).toBe(`Job ${id} is pending; it was dead.`)
  expect(await eachWay.database('jobs', 'cancel', id, '--yes')).toBe(`Job ${id} is cancelled; it was pending.`)
  expect(await eachWay.http('jobs', 'forget', id, '--yes')).toBe(`Job ${id} is forgotten.`)
  expect(await both('jobs', 'show', id)).toMatch(/^1 holdfast: there is no job/)
})

test('holdfast dlq lists, groups, shows, edits, replays and discards dead letters, over the database and over HTTP', async () => {
  const { queue, both, eachWay } = await reach()
  const { holdfast } = queue
  await startHere(queue, [broken])
  const made = await holdfast.enqueueMany([1, 2, 3].map((at) => broken.job({ at })))
  const [first, second] = made.map(({ id }) => id) as [string, string]
  await eventually(async () => (await holdfast.deadLetters.list()).letters.length === 3)

  expect(await both('dlq', 'ls', '--type', 'broken', '--reason', 'fatal', '--error', 'printer at 1')).toMatch(
    new RegExp(`^ID .*\\n${first}  broken  fatal +\\d+s  FatalError: no printer at 1$`),
  )
  expect(await both('dlq', 'groups')).toMatch(/^COUNT .*\n {4}3 {2}broken +\d+s {2}FatalError: no printer at \d$/)
  expect(await both('dlq', 'show', first)).toMatch(/broken {2}dead\n[\s\S]*payload \{"at":1\}/)
  const nobody = '01900000-0000-7000-8000-00000000dead'
  expect(await both('dlq', 'replay', '--batch', nobody, '--dry-run')).toBe('0 dead letters fit; nothing was done.')
  expect(await both('dlq', 'ls', '--batch', nobody)).toBe('There are no such dead letters.')
  expect(await both('dlq', 'replay')).toMatch(/^2 holdfast: say which: the id of one, a filter/)
  expect(await both('dlq', 'replay', '--all', '--dry-run')).toBe('3 dead letters fit; nothing was done.')
  expect(await both('dlq', 'discard', second)).toMatch(/^2 holdfast: nothing was done: pass --yes to discard/)
  expect(await eachWay.http('dlq', 'discard', second, '--yes')).toBe(`Job ${second} is discarded; it was dead.`)
  const edited = (await eachWay.http('dlq', 'edit', first, '{"fixed":true}', '--yes')).split('\n')
  expect(edited).toEqual(['- {"at":1}', '+ {"fixed":true}', `Job ${first} is pending; it was dead.`])
  await eventually(async () => (await holdfast.job(first))?.status === 'completed')
  expect(await eachWay.database('dlq', 'discard', '--type', 'broken', '--yes')).toBe('1 of 1 dead letters were discarded.')
  expect(await both('dlq', 'ls')).toBe('There are no such dead letters.')
})

test('holdfast lanes, types, workers and pause all show and change the flow, over the database and over HTTP', async () => {
  const { queue, both, eachWay } = await reach()
  await queue.holdfast.registerTypes([mail, broken])
  expect(await both('workers', 'ls')).toBe('There are no workers.')
  expect(await eachWay.http('lanes', 'set', 'default', '--slots', '7', '--poll', '2s')).toMatch(
    /^default {2}runs {2}0 of 7 slots in use {2}poll 2s/,
  )
  expect(await eachWay.database('lanes', 'drain', 'default', '--why', 'a deploy')).toMatch(/^default {2}drains/)
  expect(await both('lanes', 'ls')).toMatch(/^LANE .*\n(?:.*\n)*default +drains +0 +7 .*2s {2}broken, .*mail/)
  expect(await eachWay.http('lanes', 'resume', 'default')).toMatch(/^default {2}runs/)
  expect(await both('lanes', 'set', 'default')).toMatch(/^2 holdfast: nothing to change was given/)
  expect(await eachWay.http('types', 'limit', 'mail', '--max-running', '3', '--rate-per-key', '5/1m')).toMatch(
    /^mail {2}0 of 3 running\n/,
  )
  expect(await eachWay.database('types', 'breaker', 'mail', 'hold-open')).toMatch(/^mail {2}0 of 3 running {2}breaker open\n/)
  expect(await eachWay.http('types', 'pause', 'mail', '--why', 'a test')).toMatch(/paused by admin/)
  await queue.holdfast.enqueue(mail, {})
  // What waits is counted now and then; once it is, both ways show the same.
  await eventually(async () => {
    await queue.sql('select holdfast.measure_depths()')
    return (await queue.sql('select from holdfast.depths where waiting = 1')).length === 1
  })
  expect(await both('types', 'ls')).toMatch(/^mail +default +\d+ .*0 of 3 running {2}paused by admin, breaker open$/m)
  expect(await both('pause', 'all')).toMatch(/^2 holdfast: nothing was done: pass --yes to pause every job type/)
  // A worker has types of Holdfast's own, for webhooks and bulk actions, which go on.
  await startHere(queue, [broken])
  // Not both at once: a heartbeat between the two says how the process is by then.
  for (const type of [eachWay.database, eachWay.http])
    await eventually(async () => /^ID .*\n +1 .* \d+ ms +\d+ MB +\d+ .*broken, holdfast:/m.test(await type('workers', 'ls')))
  expect(await eachWay.http('pause', 'all', '--yes')).toBe('paused: broken')
  expect(await eachWay.database('resume', 'all', '--yes')).toBe('resumed: broken, mail')
  expect(await eachWay.http('workers', 'drain', '1', '--why', 'a new host')).toBe('Worker 1 finishes what it has.')
  expect(await eachWay.http('workers', 'ls')).toMatch(/broken, holdfast:.* drained$/m)
  expect(await eachWay.database('workers', 'ls')).toMatch(/broken, holdfast:.* drained$/m)
  expect(await eachWay.database('workers', 'resume', '1')).toBe('Worker 1 claims again.')
  expect(await eachWay.database('workers', 'drain', '1')).toBe('Worker 1 finishes what it has.')
  expect(await eachWay.http('workers', 'resume', '1')).toBe('Worker 1 claims again.')
  expect(await eachWay.http('workers', 'ls')).not.toMatch(/drained/)
  expect(await both('workers', 'drain', '99')).toMatch(/^1 holdfast: no worker 99 is signed on; holdfast workers ls/)
  expect(await both('workers', 'resume', '99')).toMatch(/^1 holdfast: no worker 99 is signed on/)
  // Not both at once: how long the oldest has waited is in milliseconds there.
  for (const type of [eachWay.database, eachWay.http]) {
    const depths = [{ type: 'mail', lane: 'default', waiting: expect.any(Number), running: 0 }]
    expect(JSON.parse(await type('types', 'ls', '--json'))).toMatchObject({ types: expect.any(Array), depths })
  }
})

test('holdfast lanes makes a lane and moves types into it, over the database and over HTTP', async () => {
  const { queue, both, eachWay } = await reach()
  await queue.holdfast.registerTypes([mail, broken])
  expect(await eachWay.database('lanes', 'create', 'bulk', '--slots', '3', '--type', 'broken')).toMatch(
    /^bulk {2}runs {2}0 of 3 slots in use {2}poll 2s {2}types broken\n {2}slots 3 by \w+; the code says nothing$/,
  )
  expect(await eachWay.http('lanes', 'types', 'bulk', 'mail')).toMatch(/ {2}types broken, mail\n/)
  expect(await eachWay.database('lanes', 'types', 'default', 'mail', 'broken')).toMatch(
    /^default {2}.* {2}types .*broken, .*mail/,
  )
  expect(await both('lanes', 'types', 'bulk', 'mial')).toMatch(/^1 holdfast: no job type named "mial" .*mail/)
  expect(await both('lanes', 'types', 'bukl', 'mail')).toMatch(/^1 holdfast: .*bukl/)
})

test('holdfast approvals, audit, roles and alerts show and decide, over the database and over HTTP', async () => {
  const { queue, both, eachWay } = await reach()
  const wire = defineType({ type: 'wire', approval: true })
  const jobs = await queue.holdfast.enqueueMany([wire.job({}), wire.job({})])
  const [one, other] = jobs.map(({ id }) => id) as [string, string]
  expect(await both('approvals', 'ls')).toMatch(/wire {2}awaiting approval/)
  expect(await eachWay.http('approvals', 'approve', one)).toBe(`Job ${one} is pending; it was awaiting approval.`)
  expect(await both('approvals', 'reject', other)).toMatch(/^2 holdfast: say why with --why/)
  expect(await eachWay.database('approvals', 'reject', other, '--why', 'too much', '--by', 'grace')).toBe(
    `Job ${other} is cancelled; it was awaiting approval.`,
  )
  const audited = await both('audit', '--target', other)
  expect(audited).toMatch(/^ *AGE {2}WHO +DID +TO +WHY\n +\d+s {2}grace {2}reject\S* +[0-9a-f-]{36} {2}too much$/)
  expect(await both('roles')).toMatch(/^viewer +built in +.*jobs:read/m)
  expect(await both('alerts', 'ls')).toBe('Nothing is wrong.')
  expect(await eachWay.http('alerts', 'set', 'deep', '--kind', 'depth', '--threshold', '5', '--for', '2m', '--hold', '1m')).toBe(
    'deep fires above 5 (depth).',
  )
  expect(await both('alerts', 'rules')).toMatch(/^deep +depth +5 +all +2m +1m +warning +on$/m)
  expect(await eachWay.http('alerts', 'silence', 'deep', '--until', '2100-01-01T00:00:00Z')).toBe(
    'deep notifies nobody until 2100-01-01T00:00:00.000Z.',
  )
  expect(await both('alerts', 'rules')).toMatch(/^deep .* silent until 2100-01-01T00:00:00\.000Z$/m)
  expect(await eachWay.database('alerts', 'silence', 'deep', '--for', '0s')).toBe('deep notifies again.')
  expect(await eachWay.database('alerts', 'drop', 'deep', '--yes')).toBe('deep is removed.')

  expect(await both('alerts', 'targets', 'ls')).toBe('Nobody is notified.')
  const hook = 'https://hooks.example.com/holdfast'
  const made = /^\S{20,}\nTarget 1 at https:\/\/hooks\.example\.com\/holdfast\. The secret cannot be shown again\.$/
  expect(await eachWay.http('alerts', 'targets', 'create', hook, '--rule', 'dead-letters')).toMatch(made)
  expect(await both('alerts', 'targets', 'create', 'http://10.0.0.7/')).toMatch(/^1 holdfast: url /)
  expect(await both('alerts', 'targets', 'ls')).toMatch(
    /^ +1 {2}https:\/\/hooks\.example\.com\/holdfast {2}webhook {2}dead-letters {2}admin +\d+s$/m,
  )
  expect(await eachWay.database('alerts', 'targets', 'test', '1')).toMatch(/^Job [0-9a-f-]{36} sends a test to target 1;/)
  expect(await eachWay.database('alerts', 'targets', 'rotate', '1', '--grace', '1h')).toMatch(made)
  expect(await both('alerts', 'targets', 'delete', '1')).toMatch(/^2 holdfast: nothing was done: pass --yes to delete target 1/)
  expect(await eachWay.http('alerts', 'targets', 'delete', '1', '--yes')).toBe('Target 1 is notified no more.')
  expect(await both('alerts', 'targets', 'test', '1')).toBe('1 holdfast: there is no target 1')
})

test('holdfast bulk counts, begins, follows, lists and aborts what is done to many jobs, over the database and over HTTP', async () => {
  const { queue, both, eachWay, database } = await reach()
  const { holdfast } = queue
  const jobs = await holdfast.enqueueMany([1, 2, 3].map((tenant) => mail.job({ tenant }, { delay: '1h', tags: ['spring'] })))
  expect(await both('bulk', 'ls')).toBe('There are no bulk actions.')
  expect(await both('bulk', 'start', 'cancel')).toMatch(
    /^2 holdfast: say which: a filter such as --type send_email, --all, or --id/,
  )
  expect(await both('bulk', 'start', 'cancel', '--tag', 'spring', '--dry-run')).toBe('3 jobs fit; nothing was done.')
  expect(await both('bulk', 'start', 'cancel', '--payload', '{"tenant": 2}', '--dry-run')).toBe('1 jobs fit; nothing was done.')
  expect(await both('bulk', 'start', 'cancel', '--tag', 'spring')).toMatch(
    /^2 holdfast: nothing was done: pass --yes to cancel 3 jobs/,
  )
  const begun = await eachWay.http('bulk', 'start', 'cancel', '--tag', 'spring', '--yes', '--why', 'wrong text')
  const [id = ''] = begun.split('\n')
  expect(begun).toBe(`${id}\n3 jobs fit; holdfast bulk wait ${id} follows it.`)
  expect(await both('bulk', 'ls')).toMatch(new RegExp(`^${id} {2}cancel {2}waiting +0 {3}3 +\\d+s {2}admin {2}wrong text$`, 'm'))
  expect(await eachWay.database('bulk', 'abort', id, '--yes')).toMatch(/^\S+ {2}cancel {2}aborted\n[\s\S]*aborted by /)
  expect(await both('bulk', 'wait', id)).toMatch(/^1 /)
  expect(await both('bulk', 'show', id)).toMatch(/ {2}0 of 0 jobs that were found are done/)
  await startHere(queue, [broken])
  const first = jobs[0]?.id as string
  const seen: string[] = []
  const { out, code } = await database(['bulk', 'start', 'set-priority', '--priority', '9', '--id', first, '--wait', '--yes'], {
    columns: 80,
    watch: (text) => void seen.push(text),
  })
  expect({ out, code }).toMatchObject({ out: expect.stringContaining('1 of 1 jobs that were found are done'), code: 0 })
  // How far it has come is written over itself, and gone before the answer.
  expect(seen.some((text) => text.startsWith('\r░'))).toBe(true)
  expect(await eachWay.http('bulk', 'start', 'cancel', '--tag', 'spring', '--wait', '--yes')).toMatch(
    /cancel {2}completed\n {2}3 of 3 jobs/,
  )
  expect(await both('bulk', 'show', first)).toMatch(/^1 holdfast: no bulk action/)
})
