import { expect, test } from 'vitest'
import { reach } from '../support/cli.js'

test('holdfast keys makes, lists, rotates and revokes keys, over the database and over HTTP', async () => {
  const { queue, both, eachWay, http } = await reach()
  expect(await both('keys', 'list')).toBe('There are no keys.')
  expect(await http(['keys', 'create', 'billing', '--role', 'producer', '--type', 'mail', '--expires', '90d'])).toEqual({
    ...{ code: 0, out: expect.stringMatching(/^hf_\S+$/), err: 'Key 1 of billing. It cannot be shown again.' },
  })
  expect(await eachWay.database('keys', 'trust', 'shop', 'shop.internal', '--role', 'viewer')).toMatch(
    /^Certificates of shop.internal are accepted as shop. To revoke that, revoke key 2.$/,
  )
  expect(JSON.parse(await eachWay.http('keys', 'rotate', '1', '--json'))).toMatchObject({
    id: 3,
    service: 'billing',
    rate_limit: 1000,
  })
  expect(await both('keys', 'revoke', '3')).toMatch(/^2 holdfast: nothing was done: pass --yes to revoke key 3/)
  expect(await eachWay.http('keys', 'revoke', '3', '--yes')).toBe('Key 3 of billing is revoked.')
  const listed = await both('keys', 'ls', 'billing')
  expect(listed).toMatch(/^ *KEY +SERVICE +BEGINS WITH +STATE +ENDS +ROLES +TYPES +USED$/m)
  expect(listed).toMatch(/^ +1 {2}billing +hf_\S+… +live +in \d+\w {2}producer {2}mail +never$/m)
  expect(listed).toMatch(/^ +3 {2}billing +hf_\S+… +revoked +producer {2}mail +never$/m)
  expect(await both('keys', 'revoke', '99', '--yes')).toBe('1 holdfast: there is no live key 99')
  await queue.holdfast.access.sessions.open(
    { person: 'person:ada@example.com', roles: ['viewer'] },
    { by: 'person:ada@example.com' },
  )
  expect(await both('keys', 'sign-out', 'person:ada@example.com')).toMatch(
    /pass --yes to end the sessions of person:ada@example.com/,
  )
  for (const [way, count] of [
    ['http', '1 session'],
    ['database', '0 sessions'],
  ] as const) {
    expect(await eachWay[way]('keys', 'sign-out', 'person:ada@example.com', '--yes')).toContain(
      `${count} of person:ada@example.com ended`,
    )
  }
  expect(await both('keys', 'sign-out', 'ada', '--yes')).toMatch(/person is "ada"; it must be a name as the audit log has it/)
  const made = await eachWay.database('keys', 'create', 'shop', '--role', 'producer', '--why', 'new service', '--by', 'grace')
  expect(await queue.holdfast.access.caller(made)).toMatchObject({ service: 'shop' })
  expect((await queue.holdfast.audit({ action: 'create_key' }))[0]).toMatchObject({
    actor: 'grace',
    why: 'new service',
    origin: 'cli',
  })
})
