import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineType } from 'holdfast'
import { smoke, startWorker } from 'holdfast/worker'
import { expect, onTestFinished, test } from 'vitest'
import { typing } from '../support/cli.js'
import { eventually } from '../support/facts.js'
import { makeQueue } from '../support/queue.js'
import { quiet } from '../support/serving.js'
import { repository } from '../support/source.js'

async function setUp() {
  const queue = await makeQueue()
  const start = async (build: string, types: Parameters<typeof startWorker>[1]) => {
    const worker = await startWorker(queue.holdfast, types, { build, logger: quiet, poll: '10ms' })
    onTestFinished(() => worker.stop({ now: true }))
    return worker
  }
  return { ...queue, start }
}

/** The same type, as two builds have it: each says which of them ran. */
function mail(build: string, more: object = {}) {
  return defineType({
    type: 'mail',
    ...more,
    smoke: {
      payload: { to: 'smoke@example.com' },
      check: (result, { to }) => result.build === 'new' && to === 'smoke@example.com',
    },
    run: async () => ({ build }),
  })
}

test('a smoke job runs on its build and on no other, however many of the others look for work', async () => {
  const { holdfast, sql, start } = await setUp()
  for (const _ of [1, 2, 3]) await start('old', [mail('old')])
  await start('new', [mail('new')])
  for (let round = 0; round < 5; round++) {
    const report = await smoke(holdfast, [mail('new')], { build: 'new' })
    expect(report).toMatchObject({ build: 'new', passed: true, types: [{ type: 'mail', outcome: 'passed', because: null }] })
    const { job } = report.types[0] as { job: string }
    expect((await holdfast.job(job))?.attempts).toMatchObject([{ outcome: 'completed', build: 'new' }])
  }
  expect(await sql('select from holdfast.pins')).toEqual([])
})

test('a smoke job behind a limit runs on its build too, and jobs of everybody run after it', async () => {
  const { holdfast, start } = await setUp()
  const limits = { limits: { maxRunning: 1 } }
  for (const _ of [1, 2]) await start('old', [mail('old', limits)])
  await start('new', [mail('new', limits)])
  const report = await smoke(holdfast, [mail('new', limits)], { build: 'new' })
  expect(report).toMatchObject({ passed: true })
  const { id } = await holdfast.enqueue('mail', {})
  await holdfast.wait(id)
})

test('what fails, is too late or finds no worker is said and leaves nothing behind; types without a smoke test are listed', async () => {
  const { holdfast, sql, start } = await setUp()
  const throws = defineType({
    type: 'throws',
    smoke: { payload: {} },
    run() {
      throw new Error('the printer is out of ink')
    },
  })
  const wrong = defineType({ type: 'wrong', smoke: { payload: {}, check: () => false }, run: async () => {} })
  const broken = defineType({
    type: 'broken',
    smoke: {
      payload: {},
      check() {
        throw new Error('there is no such file')
      },
    },
    run: async () => {},
  })
  const paused = defineType({ type: 'paused', smoke: { payload: {} }, run: async () => {} })
  const elsewhere = defineType({ type: 'elsewhere', smoke: { payload: {} }, run: async () => {} })
  const bare = defineType({ type: 'bare', run: async () => {} })
  await start('new', [throws, wrong, broken, paused, bare])
  await start('old', [elsewhere])
  await holdfast.flow.pauseType('paused', { by: 'ada' })
  const report = await smoke(holdfast, [throws, wrong, broken, paused, elsewhere, bare], { build: 'new', within: '2s' })
  expect(report.passed).toBe(false)
  const of = (type: string) => report.types.find((one) => one.type === type)
  expect(of('throws')).toMatchObject({ outcome: 'failed', because: expect.stringContaining('the printer is out of ink') })
  expect(of('wrong')).toMatchObject({ outcome: 'failed', because: 'check answered false' })
  expect(of('broken')).toMatchObject({ outcome: 'failed', because: 'there is no such file' })
  expect(of('paused')).toMatchObject({ outcome: 'failed', because: expect.stringMatching(/did not end in time.*paused/) })
  expect(of('elsewhere')).toMatchObject({
    outcome: 'failed',
    job: null,
    because: expect.stringContaining('no worker of the build new'),
  })
  expect(of('bare')).toMatchObject({ outcome: 'none', job: null, because: null })
  await eventually(async () => (await sql('select from holdfast.live')).length === 0)
  expect(await sql('select from holdfast.dead_letters')).toEqual([])
  expect(await sql('select from holdfast.pins')).toEqual([])
})

test('holdfast smoke says it of the types in a file, and its exit code says whether they passed', async () => {
  const { url, holdfast, start } = await setUp()
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-smoke-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const file = join(directory, 'handlers.mjs')
  await writeFile(
    file,
    `import { defineType } from '${join(repository, 'dist/index.js')}'
    export const build = 'new'
    const smoke = { payload: { ok: true }, check: (result) => result.ok }
    export const good = defineType({ type: 'good', smoke, run: async (payload) => payload })
    export const bad = defineType({ type: 'bad', smoke, run: async () => ({ ok: false }) })
    export const bare = defineType({ type: 'bare', run: async () => {} })`,
  )
  await holdfast.migrate()
  await start('new', file)
  const type = typing({ DATABASE_URL: url })
  const all = await type(['smoke', file, '--by', 'ada'])
  expect(all.code).toBe(3)
  const lines = all.out.split('\n')
  expect(lines[0]).toBe('failed: new, 2 of 3 types tested.')
  expect(lines[1]).toMatch(/^ {2}failed {2}bad in \d+ ms: check answered false \([0-9a-f-]{36}\)$/)
  expect(lines[2]).toMatch(/^ {2}passed {2}good in \d+ ms$/)
  expect(lines[3]).toBe('  none    bare: its definition has no smoke test')
  const one = await type(['smoke', file, '--types', 'good', '--json'])
  expect(one.code).toBe(0)
  expect(JSON.parse(one.out)).toMatchObject({ build: 'new', passed: true, types: [{ type: 'good', outcome: 'passed' }] })
  expect((await type(['smoke', file, '--build', 'other', '--types', 'good'])).out).toContain('no worker of the build other lives')
  expect((await type(['smoke', file, '--types', 'goot'])).err).toContain('did you mean "good"')
})

test('a type whose smoke test cannot be one is refused', () => {
  const define = (smoke: unknown) => () => defineType({ type: 'mail', smoke: smoke as { payload: object } })
  expect(define({})).toThrow(/must be an object with a payload/)
  expect(define({ payload: {}, check: 'yes' })).toThrow(/smoke.check of mail is not a function/)
})
