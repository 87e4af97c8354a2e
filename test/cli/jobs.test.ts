import { defineType, FatalError } from 'holdfast'
import { expect, test } from 'vitest'
import { reach, typing } from '../support/cli.js'
import { eventually } from '../support/facts.js'
import { startHere } from '../support/worker-here.js'

const mail = defineType({ type: 'mail' })
const broken = defineType({
  type: 'broken',
  run: () => {
    throw new FatalError('no such printer')
  },
})

test('holdfast jobs lists jobs by every filter and shows, cancels, resumes and replays one, over the database and over HTTP', async () => {
  const { queue, both, eachWay } = await reach()
  const { holdfast } = queue
  const options = { delay: '1h', concurrencyKey: 'acme', tags: ['spring', 'vip'] } as const
  const { id } = await holdfast.enqueue(mail, { tenant: 7 }, options)
  await holdfast.enqueue(mail, { tenant: 8 }, { ...options, concurrencyKey: 'other' })
  const dead = await holdfast.enqueue(broken, {})
  const worker = await startHere(queue, [broken])
  await eventually(async () => (await holdfast.job(dead.id))?.status === 'dead')
  await worker.stop()

  const everyFilter = ['--type', 'mail', '--status', 'scheduled', '--lane', 'default', '--key', 'acme', '--tag', 'spring', 'vip']
  const times = ['--created-after', '2020-01-01T00:00:00Z', '--created-before', '2199-01-01T00:00:00Z']
  const one = await both('jobs', 'ls', ...everyFilter, ...times, '--payload', '{"tenant":7}')
  expect(one.split('\n')).toEqual([
    expect.stringMatching(/^ID +TYPE +STATUS +TRY +AGE +LANE +NOTES$/),
    expect.stringMatching(new RegExp(`^${id}  mail  scheduled  1/\\d+  +\\ds  default  key acme #spring #vip$`)),
  ])
  const { jobs, next } = JSON.parse(await both('jobs', 'ls', '--limit', '1', '--json'))
  expect(jobs).toMatchObject([{ id: dead.id, status: 'dead', max_attempts: 5 }])
  expect(await both('jobs', 'ls', '--limit', '1', '--cursor', next)).toMatch(
    / mail {2}scheduled .*\nmore: --cursor [0-9a-f-]{36}$/,
  )
  expect(await both('jobs', 'ls', '--owner', 'nobody')).toBe('There are no such jobs.')
  expect(await both('jobs', 'ls', '--created-after', 'yesterday')).toMatch(
    /^2 holdfast: --created-after is "yesterday"; it must be/,
  )
  expect((await both('jobs', 'show', dead.id)).split('\n')).toEqual([
    `${dead.id}  broken  dead`,
    expect.stringMatching(/^ {2}attempt 1 of 5 {2}priority \d {2}lane default$/),
    expect.stringMatching(/^ {2}created 2\S+$/),
    '  payload {}',
    expect.stringMatching(/^ {2}attempt 1 {2}failed {2}2\S+ {2}\S+ {2}FatalError: no such printer$/),
  ])

  expect(await eachWay.database('jobs', 'reschedule', id, '--delay', '2h', '--why', 'later')).toBe(
    `Job ${id} is scheduled; it was scheduled.`,
  )
  expect(await eachWay.http('jobs', 'reschedule', id, '--at', '2199-01-01T00:00:00Z')).toBe(
    `Job ${id} is scheduled; it was scheduled.`,
  )
  expect(await both('jobs', 'reschedule', id)).toMatch(/^2 holdfast: no time was given/)
  expect(await eachWay.http('jobs', 'replay', dead.id)).toBe(`Job ${dead.id} is pending; it was dead.`)
  expect(await eachWay.database('jobs', 'set-priority', dead.id, '9')).toBe(`Job ${dead.id} is pending; it was pending.`)
  expect(await eachWay.http('jobs', 'nice', dead.id, '0')).toBe(`Job ${dead.id} is pending; it was pending.`)
  expect(await eachWay.http('jobs', 'cancel', id, '--yes')).toBe(`Job ${id} is cancelled; it was scheduled.`)
  expect(await both('jobs', 'cancel', id, '--yes')).toMatch(/^1 holdfast: nothing was changed: /)
  expect(await eachWay.database('jobs', 'resume', id, '--by', 'grace')).toMatch(`Job ${id} is scheduled; it was cancelled.`)
  expect((await holdfast.job(id))?.changes.map(({ move, by }) => [move, by])).toEqual([
    ['reschedule', expect.any(String)],
    ['reschedule', 'admin'],
    ['resume', 'grace'],
  ])
})

test('a replayed job that an open breaker holds back says so, one by one and all of a type', async () => {
  const { queue, eachWay } = await reach()
  const { holdfast } = queue
  const jobs = await holdfast.enqueueMany([broken.job({}), broken.job({}), broken.job({}), broken.job({})])
  const worker = await startHere(queue, [broken])
  const ended = async (id: string) => (await holdfast.job(id))?.status === 'dead'
  await eventually(async () => (await Promise.all(jobs.map(({ id }) => ended(id)))).every(Boolean))
  await worker.stop()
  await holdfast.flow.breaker('broken', 'open', { by: 'ada' })
  const waits = 'the breaker of broken is open: these jobs wait until a probe succeeds, or until somebody closes it'
  for (const [at, way] of [eachWay.database, eachWay.http].entries()) {
    const id = jobs[at]?.id as string
    expect(await way('jobs', 'replay', id)).toBe(`Job ${id} is pending; it was dead. It does not run yet: ${waits}.`)
  }
  expect(await eachWay.http('dlq', 'replay', '--type', 'broken', '--at-most', '1', '--yes')).toBe(
    `1 of 1 dead letters were replayed.\n  They do not run yet: ${waits}.`,
  )
  expect(await eachWay.database('dlq', 'replay', '--type', 'broken', '--yes')).toMatch(`\n  They do not run yet: ${waits}.`)
})

test('where to connect is said by an option or the environment, and two that differ are not guessed about', async () => {
  const database = 'postgres://localhost:1/nothing'
  const said = async (env: Record<string, string>, ...args: string[]) => {
    const { code, err } = await typing(env)(['jobs', 'ls', ...args])
    return `${code} ${err}`
  }
  expect(await said({})).toMatch(
    /^2 holdfast: no database and no server was given: set DATABASE_URL, or HOLDFAST_URL and HOLDFAST_KEY/,
  )
  expect(await said({ DATABASE_URL: database, HOLDFAST_URL: 'http://localhost' })).toMatch(
    /^2 holdfast: .* are both set: pass --url or/,
  )
  expect(await said({}, '--url', 'http://localhost', '--database-url', database)).toMatch(/^2 holdfast: .* were both given/)
  expect(await said({ HOLDFAST_URL: 'http://localhost' })).toMatch(
    /^2 holdfast: a server was given without a key: set HOLDFAST_KEY/,
  )
  expect(await said({ HOLDFAST_URL: 'localhost:7070' })).toMatch(/^2 holdfast: HOLDFAST_URL is "localhost:7070"; it must be/)
  // An option goes before the environment: nobody listens at either.
  const away = { DATABASE_URL: database, HOLDFAST_KEY: 'k' }
  expect(await said(away, '--url', 'http://127.0.0.1:1')).toMatch(/^1 holdfast: http:\/\/127.0.0.1:1 did not answer/)
})

test('a wrong command line ends with 2, and an act that cannot be taken back asks first', async () => {
  const { queue, database, http } = await reach()
  expect(await database(['jobs', 'lss'])).toMatchObject({ code: 2, err: expect.stringContaining("unknown command 'lss'") })
  expect(await database(['jobs', 'ls', '--nonsense'])).toMatchObject({ code: 2, err: expect.stringContaining('unknown option') })
  expect(await database(['--help'])).toMatchObject({ code: 0, out: expect.stringContaining('Commands:') })
  const { id } = await queue.holdfast.enqueue(mail, {}, { delay: '1h' })
  const status = async () => (await queue.holdfast.job(id))?.status
  expect(await database(['jobs', 'cancel', id])).toMatchObject({ code: 2, err: expect.stringContaining('pass --yes to cancel') })
  expect(await database(['jobs', 'cancel', id], { says: 'n' })).toMatchObject({ code: 2, err: 'holdfast: nothing was done' })
  expect(await status()).toBe('scheduled')
  expect(await http(['jobs', 'cancel', id, '--by', 'ada', '--yes'])).toMatchObject({
    code: 2,
    err: expect.stringMatching(/--by is for/),
  })
  expect(await database(['jobs', 'cancel', id], { says: 'y' })).toMatchObject({ code: 0 })
  expect(await status()).toBe('cancelled')
})

test('a table fits the terminal, never cuts an id, and shows what users wrote as text', async () => {
  const { queue, http } = await reach()
  const long = defineType({ type: 'a_type_with_a_name_that_is_much_too_long_for_a_terminal' })
  const { id } = await queue.holdfast.enqueue(long, {}, { concurrencyKey: 'evil\u001b[2Jkey\nand more', delay: '1h' })
  const { out } = await http(['jobs', 'ls'], { columns: 80 })
  const lines = out.split('\n')
  expect(lines).toHaveLength(2)
  expect(lines[1]).toContain(id)
  for (const line of lines) expect([...line].length).toBeLessThanOrEqual(80)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that is what must not be there
  expect(out).not.toMatch(/\u001b/)
})

test('--watch shows it again until it is stopped, and with --json a line each time', async () => {
  const { http } = await reach()
  const stop = new AbortController()
  const lines: string[] = []
  const watch = (text: string) => {
    lines.push(text)
    if (lines.length === 2) stop.abort()
  }
  expect(await http(['jobs', 'ls', '--watch', '--json'], { stop: stop.signal, watch })).toMatchObject({ code: 0 })
  expect(lines).toEqual(Array(2).fill('{"jobs":[],"next":null,"looked_back_to":null}\n'))
})
