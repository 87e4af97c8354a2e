import { fastify } from 'fastify'
import { defineType, Holdfasts } from 'holdfast'
import { createPlugin } from 'holdfast/server'
import { startWorkers } from 'holdfast/worker'
import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { blocks, docsPage, runExample } from '../support/docs-page.js'
import { makeMembers } from '../support/members.js'
import { adminKey } from '../support/serving.js'

test('docs/several-databases.md has examples that run as they stand', async () => {
  const [enqueue = '', look = '', work = '', mount = ''] = blocks(docsPage('several-databases.md'), 'js')
  const { urls, proxies } = await makeMembers(['eu', 'us'])
  const client = new pg.Client({ connectionString: urls.eu as string })
  await client.connect()
  onTestFinished(() => client.end())
  const at = (address: string) => (address.includes('eu.internal') ? urls.eu : urls.us) as string
  class Here extends Holdfasts {
    constructor({ members }: { members: Record<string, string> }) {
      super({ members: Object.fromEntries(Object.entries(members).map(([name, address]) => [name, at(address)])) })
      onTestFinished(() => this.close())
    }
  }
  const sendEmail = defineType({ type: 'send_email', run: () => {} })
  const { holdfasts, beside, routed, named } = await runExample(`${enqueue}; return { holdfasts, beside, routed, named }`, {
    ...{ Holdfasts: Here, client, sendEmail },
  })
  expect([beside.member, named.member]).toEqual(['eu', 'us'])
  const { story, jobs, next, unavailable, counts } = await runExample(
    `${look}; return { story, jobs, next, unavailable, counts }`,
    {
      ...{ holdfasts, routed },
    },
  )
  expect(story).toMatchObject({ id: routed.id, member: await holdfasts.memberOf('customer-7') })
  expect([jobs.length, next, unavailable]).toEqual([3, null, []])
  expect(counts.pending.count).toBeGreaterThan(0)
  const quietly: typeof startWorkers = (all, types) => startWorkers(all, types, { logger: { info() {}, warn() {}, error() {} } })
  const { workers, status, members } = await runExample(`${work}; return { workers, status, members }`, {
    ...{ startWorkers: quietly, holdfasts, sendEmail },
  })
  onTestFinished(() => workers.stop())
  expect([status, Object.keys(members)]).toEqual(['ok', ['eu', 'us']])

  const app = fastify()
  onTestFinished(() => app.close())
  await runExample(mount, { app, holdfasts, createPlugin, adminKey })
  const ask = async (url: string) => (await app.inject({ url, headers: { authorization: `Bearer ${adminKey}` } })).statusCode
  const own = beside.id.split(':')[1]
  expect([await ask(`/members/eu/jobs/${own}`), await ask(`/members/us/jobs/${own}`)]).toEqual([200, 404])
  await workers.stop()
  proxies.us?.refuse()
  proxies.us?.cut()
  expect([await ask(`/members/eu/jobs/${own}`), await ask(`/members/us/jobs/${own}`)]).toEqual([200, 503])
})
