import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { reach } from '../support/cli.js'

test('holdfast dependencies lists, shows, limits, pauses and breaks what several types use, over the database and over HTTP', async () => {
  const { queue, both, eachWay } = await reach()
  const { holdfast } = queue
  await holdfast.registerTypes([defineType({ type: 'charge', uses: ['stripe'] })], { update: true })

  expect(await eachWay.http('dependencies', 'limit', 'ledger', '--max-running', '3', '--create')).toMatch(
    /^ledger {2}0 of 3 running {2}no type uses it\n {2}max_running 3 by admin; the code says nothing\n {2}breaker opens above 80 % of at least 10 attempts in 5m/,
  )
  expect(await both('dependencies', 'pause', 'strpie')).toMatch(/^1 holdfast: there is no dependency named "strpie".*stripe/)
  expect(await both('dependencies', 'limit', 'stripe')).toMatch(/^2 holdfast: no limit was given: pass --max-running 10/)
  expect(await both('dependencies', 'limit', 'stripe', '--rate', 'often')).toMatch(/^2 holdfast: --rate is "often"; it must be/)

  await eachWay.database('dependencies', 'limit', 'stripe', '--max-running', '10', '--rate', '100/1s', '--breaker', '0.5')
  await eachWay.http('dependencies', 'pause', 'stripe', '--why', 'their status page is red')
  expect((await both('dependencies', 'ls')).split('\n')).toEqual([
    expect.stringMatching(/^NAME +LIMITS +SHUT +USED BY$/),
    expect.stringMatching(/^ledger {2}0 of 3 running +no type$/),
    expect.stringMatching(/^stripe {2}0 of 10 running, at most 100 in 1s {2}paused by admin {2}charge$/),
  ])
  expect(await both('dependencies', 'show', 'stripe')).toMatch(
    /\n {2}paused {2}by admin {2}2\S+ {2}their status page is red\n(?: {2}\w+ .* by \w+; .*\n)+ {2}breaker opens above 50 % /,
  )
  await eachWay.database('dependencies', 'resume', 'stripe')
  expect(
    await eachWay.http('dependencies', 'limit', 'stripe', '--max-running', 'none', '--rate', 'none', '--breaker', 'off'),
  ).toMatch(/^ {2}no rate by admin; the code says nothing$/m)
  expect(await eachWay.database('dependencies', 'breaker', 'stripe', 'hold-open')).toMatch(
    /^stripe {2}0 running {2}breaker open {2}used by charge\n(?: {2}\w+ .* by \w+; .*\n)+ {2}breaker never opens by itself\n {2}an operator holds the breaker open$/,
  )
  const lines = (await holdfast.audit({ target: 'stripe' })).map(
    ({ action, actor }) => `${action}${actor === 'admin' ? ' by admin' : ''}`,
  )
  expect(lines).toEqual([
    'dependency_breaker_hold_open',
    'limit_dependency by admin',
    'resume_dependency',
    'pause_dependency by admin',
    'limit_dependency',
  ])
})
