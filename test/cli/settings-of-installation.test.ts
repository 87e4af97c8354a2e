import { expect, test } from 'vitest'
import { reach } from '../support/cli.js'

test('holdfast settings lists, sets and releases settings of the installation, over the database and over HTTP', async () => {
  const { both, eachWay } = await reach()
  expect((await both('settings', 'ls')).split('\n')).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/^SETTING +COUNTS +STANDARD$/),
      expect.stringMatching(/^lease +1m +1m *$/),
      expect.stringMatching(/^max_snoozes +1000 +1000 *$/),
    ]),
  )
  await eachWay.database('settings', 'set', 'retention_completed', '14d', '--why', 'the auditors asked')
  expect(await eachWay.http('settings', 'set', 'max_snoozes', '50')).toMatch(/max_snoozes +50 +50 +1000 /)
  expect(await both('settings', 'ls')).toMatch(/retention_completed +14d +14d +7d .*: the auditors asked/)
  expect(await eachWay.http('settings', 'release', 'retention_completed')).toMatch(/retention_completed +7d +7d /)
  expect(await both('settings', 'set', 'max_snoozes', 'many')).toMatch(/^\d+ holdfast: .*max_snoozes is a whole number/)
  expect(await both('settings', 'set', 'retention', '3d')).toMatch(/^\d+ holdfast: no setting is named "retention"/)
  expect(await both('settings', 'set', 'retention_dead', '1s')).toMatch(
    /^\d+ holdfast: retention_dead is 1000; it must lie between/,
  )
})
