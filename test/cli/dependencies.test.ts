import { tmpdir } from 'node:os'
import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { Program } from '../support/holdfast-program.js'
import { makeQueue } from '../support/queue.js'

test('holdfast dependencies lists, shows, limits, pauses and breaks what several types use', async () => {
  const queue = await makeQueue()
  const { holdfast } = queue
  const run = async (...args: string[]) => {
    const program = new Program(tmpdir(), ['dependencies', ...args], { env: { DATABASE_URL: queue.url } })
    const code = await program.ended
    return code === 0 ? program.output.trimEnd() : `${code} ${program.complaints.trimEnd()}`
  }
  await holdfast.registerTypes([defineType({ type: 'charge', uses: ['stripe'] })], { update: true })

  const [made, unknown, nothing, wrong] = await Promise.all([
    run('limit', 'ledger', '--max-running', '3', '--create'),
    run('pause', 'strpie'),
    run('limit', 'stripe'),
    run('limit', 'stripe', '--rate', 'often'),
  ])
  expect(made).toMatch(/^ledger {2}0 of 3 running {2}no type uses it\n {2}breaker opens above 80 % of at least 10 attempts in 5m/)
  expect(unknown).toMatch(/^1 holdfast: there is no dependency named "strpie".*stripe/)
  expect(nothing).toMatch(/^1 holdfast: no limit was given: pass --max-running 10/)
  expect(wrong).toMatch(/^1 holdfast: --rate is "often"; it must be a number and a time/)

  await run('limit', 'stripe', '--max-running', '10', '--rate', '100/1s', '--breaker', '0.5')
  await run('pause', 'stripe', '--why', 'their status page is red')
  const [listed, shown, json] = await Promise.all([run('ls'), run('show', 'stripe'), run('ls', '--json')])
  expect(listed.split('\n')).toEqual([
    'ledger  0 of 3 running  no type uses it',
    expect.stringMatching(/^stripe {2}0 of 10 running {2}at most 100 in 1s {2}paused by \S+ {2}used by charge$/),
  ])
  expect(shown).toMatch(/\n {2}paused {2}by \S+ {2}2\S+ {2}their status page is red\n {2}breaker opens above 50 % /)
  expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(await holdfast.flow.dependencies())))

  await run('resume', 'stripe')
  await run('limit', 'stripe', '--max-running', 'none', '--rate', 'none', '--breaker', 'off')
  expect(await run('breaker', 'stripe', 'hold-open')).toMatch(
    /^stripe {2}0 running {2}breaker open {2}used by charge\n {2}breaker never opens by itself\n {2}an operator holds the breaker open$/,
  )
  expect((await holdfast.audit({ target: 'stripe' })).map(({ action, origin }) => `${origin} ${action}`)).toEqual([
    'cli dependency_breaker_hold_open',
    'cli limit_dependency',
    'cli resume_dependency',
    'cli pause_dependency',
    'cli limit_dependency',
  ])
}, 120_000)
