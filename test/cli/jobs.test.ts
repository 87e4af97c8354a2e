import { tmpdir } from 'node:os'
import { defineType, FatalError } from 'holdfast'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { Program } from '../support/holdfast-program.js'
import { makeQueue } from '../support/queue.js'
import { startHere } from '../support/worker-here.js'

const mail = defineType({ type: 'mail' })
const broken = defineType({
  type: 'broken',
  run: () => {
    throw new FatalError('no such printer')
  },
})

test('holdfast jobs lists jobs by every filter and shows, cancels, reschedules and replays one', async () => {
  const queue = await makeQueue()
  const { holdfast } = queue
  const run = async (...args: string[]) => {
    const program = new Program(tmpdir(), ['jobs', ...args], { env: { DATABASE_URL: queue.url } })
    const code = await program.ended
    return code === 0 ? program.output.trimEnd() : `${code} ${program.complaints.trimEnd()}`
  }
  const options = { delay: '1h', concurrencyKey: 'acme', tags: ['spring', 'vip'] } as const
  const { id } = await holdfast.enqueue(mail, { tenant: 7 }, options)
  await holdfast.enqueue(mail, { tenant: 8 }, { ...options, concurrencyKey: 'other' })
  const dead = await holdfast.enqueue(broken, {})
  await startHere(queue, [broken])
  await eventually(async () => (await holdfast.job(dead.id))?.status === 'dead')

  const everyFilter = ['--type', 'mail', '--status', 'scheduled', '--lane', 'default', '--key', 'acme', '--tag', 'spring', 'vip']
  const times = [
    '--created-after',
    '2020-01-01T00:00:00Z',
    '--created-before',
    '2999-01-01T00:00:00Z',
    '--payload',
    '{"tenant":7}',
  ]
  const [one, page, none, wrong, shown] = await Promise.all([
    run('ls', ...everyFilter, ...times),
    run('ls', '--limit', '1', '--json'),
    run('ls', '--owner', 'nobody'),
    run('ls', '--created-after', 'yesterday'),
    run('show', dead.id),
  ])
  expect(one).toMatch(new RegExp(`^${id}  mail  scheduled  default  attempt 1/\\d+  2\\S+  key acme  #spring  #vip$`))
  const { jobs, next } = JSON.parse(page)
  expect(jobs).toMatchObject([{ id: dead.id, status: 'dead' }])
  expect(none).toBe('There are no such jobs.')
  expect(wrong).toMatch(/^1 holdfast: --created-after is "yesterday"; it must be a time/)
  expect(shown.split('\n')).toEqual([
    expect.stringMatching(`^${dead.id}  broken  dead  `),
    '  payload {}',
    expect.stringMatching(/^ {2}attempt 1 {2}failed {2}2\S+ {2}\S+ {2}FatalError: no such printer$/),
  ])

  const [second, moved, replayed] = await Promise.all([
    run('ls', '--limit', '1', '--cursor', next),
    run('reschedule', id, '--delay', '2h', '--why', 'later'),
    run('replay', dead.id),
  ])
  expect(second).toMatch(/ mail {2}scheduled .*\nmore: --cursor [0-9a-f-]{36}$/)
  expect(moved).toBe(`Job ${id} is scheduled; it was scheduled.`)
  expect(replayed).toBe(`Job ${dead.id} is pending; it was dead.`)
  expect(await run('cancel', id)).toBe(`Job ${id} is cancelled; it was scheduled.`)
  expect(await run('run-now', id)).toMatch(/^1 holdfast: nothing was changed: /)
}, 120_000)
