import { defineType, FatalError } from 'holdfast'
import { expect, test } from 'vitest'
import { makeMembers, workFor } from '../support/members.js'

const mail = defineType({ type: 'send_email' })
const by = { by: 'ada' }

test('what is done to a job goes to the member in its id; an id without a member is looked for, also one that SQL made', async () => {
  const { holdfasts, sql } = await makeMembers(['eu', 'us'])
  await holdfasts.registerTypes([mail])
  const { id } = await holdfasts.enqueue(mail, 1, { member: 'us', delay: '1h' })
  expect(await holdfasts.cancel(id, by)).toMatchObject({ id, done: true, status: 'cancelled' })
  const [{ id: own } = {}] = await sql('us', `select id from holdfast.enqueue('send_email', '1')`)
  expect(await holdfasts.job(String(own))).toMatchObject({ id: `us:${own}`, member: 'us' })
  expect(await holdfasts.explain(`us:${own}`)).toBeDefined()
  expect(await holdfasts.runNow(String(own), by)).toMatchObject({ id: `us:${own}` })
  await expect(holdfasts.cancel(`sa:${own}`, by)).rejects.toThrow(
    /is of "sa", which is no member of this system.*there are eu, us/,
  )
  await expect(holdfasts.job('us:nonsense')).rejects.toMatchObject({ code: 'invalid_option', field: 'id' })
  // In another member there is no such job, whatever stands elsewhere.
  expect(await holdfasts.job(`eu:${own}`)).toBeUndefined()
})

test('pages of all members are one list, newest first, in which every job stands once', async () => {
  const { holdfasts } = await makeMembers(['eu', 'us'])
  await holdfasts.registerTypes([mail])
  const ids: string[] = []
  for (let n = 0; n < 25; n++) ids.unshift((await holdfasts.enqueue(mail, n, { member: n % 5 === 0 ? 'us' : 'eu' })).id)
  const found: string[] = []
  let cursor: string | undefined
  do {
    const page = await holdfasts.jobs({}, { limit: 4, ...(cursor && { cursor }) })
    expect(page.jobs.length).toBeLessThanOrEqual(4)
    found.push(...page.jobs.map(({ id }) => id))
    cursor = page.next ?? undefined
  } while (cursor)
  expect(found).toEqual(ids)
  const { jobs } = await holdfasts.jobs({ member: 'us' })
  expect(jobs.map(({ member }) => member)).toEqual(Array(5).fill('us'))
  await expect(holdfasts.jobs({}, { cursor: 'nonsense' })).rejects.toMatchObject({ field: 'cursor' })
})

test('while a member is away the others are served, and every answer says what is missing', async () => {
  const { holdfasts, proxies } = await makeMembers(['eu', 'us'])
  await holdfasts.registerTypes([mail])
  const { id: away } = await holdfasts.enqueue(mail, 1, { member: 'us' })
  const { id: here } = await holdfasts.enqueue(mail, 2, { member: 'eu' })
  proxies.us?.refuse()
  proxies.us?.cut()
  expect(await holdfasts.jobs()).toMatchObject({ jobs: [{ id: here }], unavailable: ['us'] })
  expect(await holdfasts.jobCounts()).toMatchObject({ counts: { pending: { count: 1 } }, unavailable: ['us'] })
  expect(await holdfasts.members()).toMatchObject({ members: [{ name: 'eu', live: 1 }], unavailable: ['us'] })
  expect(await holdfasts.series()).toMatchObject({ unavailable: ['us'] })
  // Nobody says of a job that it is not there while the member it may be in says nothing.
  const [, own] = away.split(':') as [string, string]
  await expect(holdfasts.job(own)).rejects.toThrow(/is in no member that answered, and us did not/)
  await expect(holdfasts.job(away)).rejects.toMatchObject({ code: 'database_unavailable' })
  // A key belongs to its member also while that is away; a job without one goes where it can.
  const keys = ['a', 'b', 'c', 'd', 'e', 'f'].map(async (key) => ({ key, member: await holdfasts.memberOf(key) }))
  const [lost] = (await Promise.all(keys)).filter(({ member }) => member === 'us')
  await expect(holdfasts.enqueue(mail, 3, { key: lost?.key as string, retryFor: 0 })).rejects.toMatchObject({
    code: 'database_unavailable',
  })
  for (let n = 0; n < 8; n++) expect(await holdfasts.enqueue(mail, n, { retryFor: 0 })).toMatchObject({ member: 'eu' })
})

test('counts, series and members of all databases add up', async () => {
  const { holdfasts } = await makeMembers(['eu', 'us'])
  const fails = defineType({ type: 'charge', run: () => Promise.reject(new FatalError('no account')) })
  await holdfasts.registerTypes([mail, fails])
  await workFor(holdfasts, [fails])
  for (const member of ['eu', 'us', 'us']) {
    await holdfasts.enqueue(mail, 1, { member, delay: '1h' })
    await expect(holdfasts.wait(await holdfasts.enqueue(fails, 1, { member }))).rejects.toMatchObject({ code: 'job_dead' })
  }
  const { counts } = await holdfasts.jobCounts()
  expect(counts).toMatchObject({ scheduled: { count: 3, more: false }, dead: { count: 3, more: false } })
  expect((await holdfasts.jobCounts({ member: 'us' })).counts).toMatchObject({ scheduled: { count: 2 } })
  expect((await holdfasts.members()).members).toEqual([
    { name: 'eu', routed: true, live: 1, dead: 1, schedules: 0 },
    { name: 'us', routed: true, live: 2, dead: 2, schedules: 0 },
  ])
  const { dead, unavailable } = await holdfasts.series({ type: 'charge' })
  expect([dead.every((each) => each >= 0), unavailable]).toEqual([true, []])
})
