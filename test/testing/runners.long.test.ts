import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { npm, repository } from '../support/packed.js'

/** The same two test files for each runner, which it runs beside each other. */
const suite = `
import assert from 'node:assert/strict'
import { defineType } from 'holdfast'
import { runJob, scratchQueue } from 'holdfast/testing'

const sent = []
const remind = defineType({
  type: 'remind',
  async run({ to }, ctx) {
    ctx.log('asleep')
    await ctx.sleep('3 days')
    sent.push(to)
    return { to }
  },
})
let queue
beforeEach(async () => { queue = await scratchQueue() })
afterEach(() => queue.close())

test('travels through a sleep', async () => {
  await queue.holdfast.enqueue(remind, { to: 'ada' })
  await queue.assertEnqueued(remind, { to: 'ada' }, { count: 1 })
  const { completed, left } = await queue.drain([remind], { throughTime: '4 days' })
  assert.deepEqual([completed.length, left.length, sent], [1, 0, ['ada']])
})

test('runs a job by hand', async () => {
  const asleep = await runJob(remind, { to: 'bob' })
  assert.deepEqual([asleep.status, asleep.log], ['scheduled', [{ level: 'info', line: 'asleep' }]])
  assert.deepEqual((await runJob(remind, { to: 'bob' }, { after: asleep })).result, { to: 'bob' })
})

test('shows what there is instead', async () => {
  await queue.holdfast.enqueue(remind, { to: 'eve' })
  await assert.rejects(queue.assertEnqueued(remind, { to: 'ada' }, { count: 1 }), /in the queue:\\n {2}remind pending/)
})
`

/** What each runner's own functions are imported from, and how it is started. */
const runners = {
  'node:test': { from: 'node:test', start: () => ['--test', join(project, 'node-test')] },
  vitest: {
    from: 'vitest',
    start: () => [join(repository, 'node_modules/vitest/vitest.mjs'), 'run', '--dir', join(project, 'vitest')],
  },
  jest: {
    from: '@jest/globals',
    start: () => ['--experimental-vm-modules', join(project, 'node_modules/jest/bin/jest.js'), join(project, 'jest')],
  },
} as const

/** The usual five seconds are too few on a busy machine. */
const patienceMs = 60_000
let project: string
beforeAll(async () => {
  project = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-runners-')))
  const manifest = { private: true, type: 'module', jest: { transform: {}, testTimeout: patienceMs } }
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest))
  writeFileSync(
    join(project, 'vitest.config.mjs'),
    `export default { test: { testTimeout: ${patienceMs}, hookTimeout: ${patienceMs} } }`,
  )
  await npm(project, 'install', '--no-audit', '--no-fund', '--ignore-scripts', 'jest@30.5.2')
  symlinkSync(repository, join(project, 'node_modules', 'holdfast'), 'junction')
  symlinkSync(join(repository, 'node_modules', 'vitest'), join(project, 'node_modules', 'vitest'), 'junction')
  for (const [runner, { from }] of Object.entries(runners)) {
    const folder = join(project, runner.replace(':', '-'))
    mkdirSync(folder)
    for (const file of ['one', 'two'])
      writeFileSync(join(folder, `${file}.test.mjs`), `import { afterEach, beforeEach, test } from '${from}'\n${suite}`)
  }
}, 600_000)

afterAll(() => rmSync(project, { recursive: true, force: true }))

describe('a program whose tests are run by', () => {
  test.each(Object.keys(runners) as (keyof typeof runners)[])(
    '%s uses the kit, in files that run beside each other',
    async (runner) => {
      const { NODE_OPTIONS: _, VITEST: __, ...env } = process.env
      const { stdout, stderr } = await promisify(execFile)(process.execPath, [...runners[runner].start()], { cwd: project, env })
      expect(`${stdout}${stderr}`).toMatch(/pass 6|6 passed/)
    },
    300_000,
  )
})
