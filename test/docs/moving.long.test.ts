/** Jobs that wait in pg-boss, graphile-worker and BullMQ, the real ones as npm has them, are moved by the scripts of docs/moving.md. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { cp, mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { defineType } from 'holdfast'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { docsPage } from '../support/docs-page.js'
import { npm } from '../support/packed.js'
import { whenInstalled } from '../support/programs.js'
import { makeQueue, type Queue } from '../support/queue.js'
import { startRedis } from '../support/redis.js'
import { repository } from '../support/source.js'

const run = promisify(execFile)
const others = ['pg-boss@12.35.0', 'graphile-worker@0.18.0', 'bullmq@6.7.0', 'ioredis@5.9.0', 'pg@8.23.1']
const mail = defineType({ type: 'send_email', run() {} })
let project: string

beforeAll(async () => {
  project = mkdtempSync(join(tmpdir(), 'holdfast-moving-'))
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }')
  await npm(project, 'install', '--ignore-scripts', '--no-audit', '--no-fund', ...others)
  await mkdir(join(project, 'node_modules'), { recursive: true })
  symlinkSync(repository, join(project, 'node_modules', 'holdfast'))
  await cp(join(repository, 'examples', 'moving'), project, { recursive: true })
}, 300_000)

afterAll(() => rmSync(project, { recursive: true }))

/** Runs a program that has the other system as a package, and answers with what it printed. */
async function node(queue: Queue, args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const { stdout } = await run(process.execPath, args as string[], {
    cwd: project,
    env: { ...process.env, DATABASE_URL: queue.url, ...env },
  })
  return stdout.trim()
}
const script = (queue: Queue, text: string, env = {}) => node(queue, ['--input-type=module', '-e', text], env)

/** What was moved, in the order of the payloads' numbers. */
async function moved({ holdfast }: Queue) {
  const { jobs } = await holdfast.jobs({ type: 'send_email' })
  const seen = jobs.map(({ payload, priority, status, maxAttempts }) => ({
    n: (payload as { n: number }).n,
    ...{ priority, status, maxAttempts },
  }))
  return seen.sort((one, other) => one.n - other.n)
}

/** A type that nobody has registered stops the move, and the other system keeps everything. */
async function refusesAnUnknownType(queue: Queue, file: string, args: readonly string[] = [], env = {}): Promise<void> {
  await expect(node(queue, [file, ...args], env)).rejects.toMatchObject({ stderr: expect.stringContaining('unknown_type') })
  expect((await queue.holdfast.jobs()).jobs).toEqual([])
  await queue.holdfast.registerTypes([mail])
}

test('jobs of pg-boss are moved with their payload, priority, time and attempts; what runs stays there', async () => {
  const queue = await makeQueue()
  await script(
    queue,
    `import { PgBoss } from 'pg-boss'
     const boss = new PgBoss(process.env.DATABASE_URL)
     await boss.start()
     await boss.createQueue('send_email')
     await boss.send('send_email', { n: 0 }, { priority: 100 })
     await boss.fetch('send_email')
     await boss.send('send_email', { n: 1 }, { priority: 2, retryLimit: 3 })
     await boss.send('send_email', { n: 2 }, { startAfter: 3600, retryLimit: 0 })
     await boss.stop()`,
  )
  await queue.holdfast.migrate()
  await refusesAnUnknownType(queue, 'from-pg-boss.mjs')
  expect(await node(queue, ['from-pg-boss.mjs'])).toBe('moved 2 jobs')
  expect(await moved(queue)).toEqual([
    { n: 1, priority: 7, status: 'pending', maxAttempts: 4 },
    { n: 2, priority: 5, status: 'scheduled', maxAttempts: 1 },
  ])
  expect(await queue.sql("select state from pgboss.job where name = 'send_email'")).toEqual([{ state: 'active' }])
  expect(await node(queue, ['from-pg-boss.mjs'])).toBe('moved 0 jobs')
})

test('jobs of graphile-worker are moved, and a named queue becomes a concurrency key', async () => {
  const queue = await makeQueue()
  await script(
    queue,
    `import { makeWorkerUtils } from 'graphile-worker'
     const utils = await makeWorkerUtils({ connectionString: process.env.DATABASE_URL })
     await utils.migrate()
     await utils.addJob('send_email', { n: 1 }, { priority: -2, maxAttempts: 3, queueName: 'acme' })
     await utils.addJob('send_email', { n: 2 }, { runAt: new Date(Date.now() + 3600_000), maxAttempts: 25 })
     await utils.release()`,
  )
  await queue.holdfast.migrate()
  await refusesAnUnknownType(queue, 'from-graphile-worker.mjs')
  expect(await node(queue, ['from-graphile-worker.mjs'])).toBe('moved 2 jobs')
  expect(await moved(queue)).toEqual([
    { n: 1, priority: 7, status: 'pending', maxAttempts: 3 },
    { n: 2, priority: 5, status: 'scheduled', maxAttempts: 20 },
  ])
  expect((await queue.holdfast.jobs({ concurrencyKey: 'acme' })).jobs.length).toBe(1)
  expect(await queue.sql('select count(*)::int as left from graphile_worker._private_jobs')).toEqual([{ left: 0 }])
})

whenInstalled(
  'redis-server',
  'jobs of BullMQ are moved once each, also where an earlier run was ended in between',
  async (redis) => {
    const queue = await makeQueue()
    const server = await startRedis(redis)
    const env = { REDIS_URL: server.url }
    const first = await script(
      queue,
      `import { Queue } from 'bullmq'
       import { Redis } from 'ioredis'
       const redis = new Redis(process.env.REDIS_URL, { maxRetriesPerRequest: null })
       const mails = new Queue('mails', { connection: redis })
       await mails.waitUntilReady()
       const first = await mails.add('send_email', { n: 1 }, { attempts: 3 })
       await mails.add('send_email', { n: 2 }, { priority: 3 })
       await mails.add('send_email', { n: 3 }, { delay: 3600_000 })
       await mails.close()
       await redis.quit()
       console.log(first.id)`,
      env,
    )
    await queue.holdfast.migrate()
    await refusesAnUnknownType(queue, 'from-bullmq.mjs', ['mails'], env)
    // As a run leaves it that was ended after it had enqueued the job and before it removed it.
    await queue.holdfast.enqueue(mail, { n: 1 }, { maxAttempts: 3, idempotencyKey: `bullmq:mails:${first}` })
    expect(await node(queue, ['from-bullmq.mjs', 'mails'], env)).toBe('moved 3 jobs')
    expect(await moved(queue)).toEqual([
      { n: 1, priority: 5, status: 'pending', maxAttempts: 3 },
      { n: 2, priority: 2, status: 'pending', maxAttempts: 1 },
      { n: 3, priority: 5, status: 'scheduled', maxAttempts: 1 },
    ])
    expect(await node(queue, ['from-bullmq.mjs', 'mails'], env)).toBe('moved 0 jobs')
  },
)

test('docs/moving.md names each script', () => {
  const page = docsPage('moving.md')
  for (const name of ['pg-boss', 'graphile-worker', 'bullmq']) expect(page).toContain(`../examples/moving/from-${name}.mjs`)
})
