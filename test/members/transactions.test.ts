import { defineType, Holdfasts } from 'holdfast'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { makeMembers } from '../support/members.js'

const mail = defineType({ type: 'send_email' })

async function connected(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

test('a job in the transaction of its data is in the member that the transaction is in, and only if that commits', async () => {
  const { holdfasts, urls } = await makeMembers(['eu', 'us'])
  await holdfasts.registerTypes([mail])
  const tx = await connected(urls.us as string)
  await tx.query('begin')
  const kept = await holdfasts.enqueue(mail, 1, { tx })
  await tx.query('commit')
  await tx.query('begin')
  const lost = await holdfasts.enqueue(mail, 1, { tx, member: 'us' })
  await tx.query('rollback')
  expect(kept.member).toBe('us')
  expect(await holdfasts.job(kept.id)).toMatchObject({ id: kept.id, member: 'us' })
  expect(await holdfasts.job(lost.id)).toBeUndefined()
})

test('a transaction in another member than the one named, or in none, is refused before anything is stored', async () => {
  const { holdfasts, urls, another, add, sql } = await makeMembers(['eu', 'us'])
  await holdfasts.registerTypes([mail])
  const eu = await connected(urls.eu as string)
  await expect(holdfasts.enqueue(mail, 1, { tx: eu, member: 'us' })).rejects.toThrow(
    /at the address of us says that it is the member eu/,
  )
  await expect(another(['us']).enqueue(mail, 1, { tx: eu })).rejects.toThrow(/says that it is the member eu; there are us/)
  const nobody = await connected(await add('ap'))
  await expect(holdfasts.enqueue(mail, 1, { tx: nobody })).rejects.toThrow(/has no name as a member/)
  expect(await sql('eu', 'select from holdfast.bodies')).toEqual([])
})

test('addresses that were mixed up are found by whoever uses them, and nothing is stored in the wrong database', async () => {
  const { urls, sql } = await makeMembers(['eu', 'us'])
  const mixed = new Holdfasts({ members: { eu: urls.us as string, us: urls.eu as string } })
  onTestFinished(() => mixed.close())
  await expect(mixed.enqueue('send_email', 1, { key: 'a' })).rejects.toMatchObject({ code: 'invalid_configuration' })
  await expect(mixed.migrate()).rejects.toThrow(/says that it is the member us; the addresses are mixed up/)
  for (const member of ['eu', 'us']) expect(await sql(member, 'select from holdfast.bodies')).toEqual([])
})
