import { rm } from 'node:fs/promises'
import { defineType } from 'holdfast'
import { startPostgres } from 'holdfast/dev'
import pg from 'pg'
import { expect, onTestFinished } from 'vitest'
import { memberOf } from '../../src/members/route.js'
import { typing } from '../support/cli.js'
import { type Members, makeMembers } from '../support/members.js'
import { newDataDir } from '../support/prepared-cluster.js'
import { whenInstalled } from '../support/programs.js'

const ada = { by: 'ada' }

/** Debian's PostgreSQL 15, whose PL/Proxy routes to these members, as the script that the command prints sets it up. */
async function routerTo({ urls }: Members): Promise<pg.Client> {
  const dataDir = await newDataDir()
  const server = await startPostgres({ dataDir, binDir: '/usr/lib/postgresql/15/bin', settings: { fsync: 'off' } })
  const client = new pg.Client({ connectionString: server.connectionString })
  client.on('error', () => {})
  onTestFinished(async () => {
    await client.end()
    await server.stop('immediate')
    await rm(dataDir, { recursive: true, force: true })
  })
  await client.connect()
  const databases = Object.entries(urls).map(([name, url]) => `${name}=${url}`)
  const { out } = await typing({ HOLDFAST_DATABASES: databases.join(',') })(['members', 'plproxy'])
  const passwords = Object.entries(urls).map(([name, url]) => {
    const { username, password } = new URL(url)
    expect(out).not.toContain(`password`)
    const user = username === '' ? '' : `user '${username}'`
    const has = password === '' ? '' : `, add password '${password}'`
    return user && `alter user mapping for public server holdfast_${name} options (set ${user}${has});`
  })
  await client.query(
    out.replace('select holdfast_router.refresh();', `${passwords.join('\n')}\nselect holdfast_router.refresh();`),
  )
  return client
}

whenInstalled(
  'plproxy',
  'PL/Proxy routes the jobs of SQL producers as the library does, and not to a drained member',
  async () => {
    const made = await makeMembers(['eu', 'us'])
    const { holdfasts } = made
    await holdfasts.registerTypes([defineType({ type: 'send_email' })])
    const router = await routerTo(made)
    const rows = async (text: string, values: unknown[] = []) => (await router.query(text, values)).rows

    const keys = Array.from({ length: 10_000 }, (_, n) => (n % 3 === 0 ? `{käse ${n}}/order` : `customer-${n}`))
    const clusters = await rows(
      'select holdfast_router.cluster_of(k) as at from unnest($1::text[]) with ordinality as k (k, n) order by n',
      [keys],
    )
    expect(clusters.map(({ at }) => at)).toEqual(keys.map((key) => `holdfast_${memberOf(key, ['eu', 'us'])}`))

    const enqueue = async (key: string, options = '{}') =>
      (await rows(`select * from holdfast_router.enqueue($1, 'send_email', '{"to":"ada"}', $2)`, [key, options]))[0]
    for (const key of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const { id, status } = await enqueue(key, `{"idempotency_key":"{${key}}1"}`)
      expect(status).toBe('created')
      expect(await holdfasts.job(id)).toMatchObject({ id, member: memberOf(key, ['eu', 'us']), type: 'send_email' })
      // The library finds the same job by the same key.
      expect(await holdfasts.enqueue('send_email', 1, { idempotencyKey: `{${key}}1` })).toMatchObject({ id, status: 'existing' })
    }
    await expect(enqueue('a', '{"idempotency_key":"order-9"}')).rejects.toThrow(/"order-9" may belong to another member/)
    await expect(enqueue('a', '{"unique":{"by":"payload"}}')).rejects.toThrow(/made from the payload/)

    const toUs = keys.find((key) => memberOf(key, ['eu', 'us']) === 'us') as string
    await holdfasts.drainMember('us', ada)
    await expect(enqueue(toUs)).rejects.toThrow('the member us is drained')
    await router.query('select holdfast_router.refresh()')
    expect((await enqueue(toUs)).id).toMatch(/^eu:/)
    made.proxies.us?.refuse()
    made.proxies.us?.cut()
    // One that is away keeps nobody else from being served, and its state as it was.
    await router.query('select holdfast_router.refresh()')
    expect((await enqueue(toUs)).id).toMatch(/^eu:/)
  },
  90_000,
)
