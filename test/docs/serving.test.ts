import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { createRequire } from 'node:module'
import express from 'express'
import { fastify } from 'fastify'
import { defineType, Holdfast } from 'holdfast'
import { createHandler, createPlugin } from 'holdfast/server'
import { expect, onTestFinished, test } from 'vitest'
import { blocks, docsPage, runExample } from '../support/docs-page.js'
import { makeQueue } from '../support/queue.js'
import { adminKey } from '../support/serving.js'

const headers = { authorization: `Bearer ${adminKey}` }

async function isServedBy(server: Server): Promise<void> {
  if (!server.listening) await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const { port } = server.address() as { port: number }
  expect((await fetch(`http://127.0.0.1:${port}/holdfast/status`, { headers })).status).toBe(200)
}

test('docs/serving.md has lines for Fastify, Express and Node that serve as they stand', async () => {
  const { holdfast } = await makeQueue()
  const [ofFastify = '', ofExpress = '', ofNode = ''] = blocks(docsPage('serving.md'), 'js')
  const app = fastify()
  onTestFinished(() => app.close())
  await runExample(ofFastify, { app, holdfast, createPlugin, adminKey })
  expect((await app.inject({ url: '/holdfast/status', headers })).statusCode).toBe(200)

  const [mounted = '', closing = ''] = ofExpress.split('// When the program stops')
  const web = express()
  const jobs = await runExample(`${mounted}; return jobs`, { app: web, holdfast, createHandler, adminKey })
  await isServedBy(web.listen(0, '127.0.0.1'))
  await runExample(closing.slice(closing.indexOf('\n')), { jobs })

  const made: Server[] = []
  const onAnyPort = (listener: Parameters<typeof createServer>[1]) => {
    const server = createServer(listener as never)
    made.push(server)
    return { listen: () => server.listen(0, '127.0.0.1') }
  }
  const alone = await runExample(`${ofNode}; return jobs`, {
    holdfast,
    createHandler,
    adminKey,
    createServer: onAnyPort,
    shop() {},
  })
  await isServedBy(made[0] as Server)
  await alone.close()
})

test('the lines of docs/install.md, docs/schema.md, docs/uniqueness.md and docs/job-states.md run as they stand', async () => {
  const queue = await makeQueue()
  const require = createRequire(import.meta.url)
  expect(await runExample(`${blocks(docsPage('install.md'), 'js')[0]}; return Holdfast`, { require })).toBe(Holdfast)
  const [ofSchema = '', ofAlias = ''] = blocks(docsPage('schema.md'), 'js')
  const environment = { env: { DATABASE_URL: queue.url } }
  const eu = await runExample(`${ofSchema}; return eu`, { Holdfast, process: environment })
  await eu.migrate()
  await eu.close()
  expect(await queue.sql(`select from information_schema.schemata where schema_name = 'jobs_eu'`)).toHaveLength(1)
  const aliased = await runExample(`return ${ofAlias}`, { defineType, run() {} })
  const shared = await runExample(`${blocks(docsPage('uniqueness.md'), 'ts')[2]}; return rebuildIndex`, { defineType })
  await queue.holdfast.registerTypes([aliased, shared])
  const { id } = await queue.holdfast.enqueue(aliased, {})
  const statements = blocks(docsPage('job-states.md'), 'sql').join('').replaceAll('…', id).split(';\n').filter(Boolean)
  const answers = await Promise.all(statements.map((text) => queue.sql(text)))
  expect(answers).toMatchObject([[{ status: 'pending', count: '1' }], [{ id, type: 'send_email' }], []])
})
