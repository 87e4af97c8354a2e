import { expect, test } from 'vitest'
import { reach } from '../support/cli.js'

test('holdfast depths lists and sets how much may wait, over the database and over HTTP', async () => {
  const { both, eachWay } = await reach()
  expect(await both('depths', 'ls')).toMatch(/^queue +\d+ +100000 +500000 .*of 2500000 scheduled/m)
  expect(await eachWay.database('depths', 'set', '--hard', '600000', '--why', 'an import')).toMatch(
    /^queue +\d+ +100000 +600000 /m,
  )
  expect(await eachWay.http('depths', 'set', '--lane', 'interactive', '--hard', '10', '--oldest', '10m')).toMatch(
    /^lane interactive +0 +10 +10m/m,
  )
  // What is not named stays, and none takes a limit away.
  expect(await eachWay.database('depths', 'set', '--lane', 'interactive', '--soft', '5')).toMatch(
    /^lane interactive +0 +5 +10 +10m/m,
  )
  expect(await eachWay.http('depths', 'set', '--lane', 'interactive', '--hard', 'none')).toMatch(/^lane interactive +0 +5 +10m/m)
  expect(JSON.parse(await both('depths', 'ls', '--json'))).toMatchObject({
    limits: expect.arrayContaining([expect.objectContaining({ scope: 'lane', name: 'interactive', soft: 5, hard: null })]),
  })
  expect(await eachWay.database('audit', '--action', 'limit_depth')).toContain('an import')
  expect(await both('depths', 'set')).toMatch(/^\d+ holdfast: no limit was given/)
  expect(await both('depths', 'set', '--hard', 'few')).toMatch(/^\d+ holdfast: --hard is "few"/)
  expect(await both('depths', 'set', '--lane', 'a', '--type', 'b', '--hard', '1')).toMatch(/^\d+ holdfast: --lane and --type/)
  expect(await both('depths', 'set', '--soft', '9', '--hard', '3')).toMatch(/^\d+ holdfast: soft is 9, more than hard/)
})
