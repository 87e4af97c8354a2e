/** The pages of docs/how-to about operating: what they have people type, run and configure. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineType, Holdfast } from 'holdfast'
import { load } from 'js-yaml'
import { expect, onTestFinished, test } from 'vitest'
import { typing } from '../support/cli.js'
import { blocks, docsPage, runExample } from '../support/docs-page.js'
import { eventually } from '../support/facts.js'
import { startPgBouncer } from '../support/pgbouncer.js'
import { whenInstalled } from '../support/programs.js'
import { makeQueue } from '../support/queue.js'
import { repository } from '../support/source.js'
import { startHere } from '../support/worker-here.js'

test('a worker in a container hands its long job back on SIGTERM, and the next one goes on behind the checkpoint', async () => {
  const queue = await makeQueue()
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-shutdown-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  await mkdir(join(directory, 'node_modules'))
  symlinkSync(repository, join(directory, 'node_modules', 'holdfast'))
  const [worker = '', jobs = ''] = blocks(docsPage('how-to/graceful-shutdown.md'), 'js')
  writeFileSync(join(directory, 'worker.mjs'), worker)
  writeFileSync(join(directory, 'jobs.mjs'), jobs)
  const start = async () => {
    const env = { ...process.env, DATABASE_URL: queue.url, DRAIN: '0s', HOLDFAST_LOG_LEVEL: 'error' }
    const child = spawn(process.execPath, ['worker.mjs'], { cwd: directory, env, stdio: ['ignore', 'pipe', 'inherit'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    const ended = once(child, 'exit')
    expect(`${await once(child.stdout, 'data')}`).toBe('ready\n')
    return { child, ended }
  }

  const first = await start()
  const { id } = await queue.holdfast.enqueue('resize_all', { images: 30 })
  await eventually(async () => ((await queue.holdfast.job(id))?.progress?.fraction ?? 0) > 0)
  first.child.kill('SIGTERM')
  expect(await first.ended).toEqual([0, null])
  expect(await queue.holdfast.job(id)).toMatchObject({ attempts: [{ outcome: 'handed_back' }], attempt: 1 })

  const second = await start()
  const { resized, before } = (await queue.holdfast.wait(id)) as { resized: number; before: number }
  expect([resized + before, before > 0]).toEqual([30, true])
  second.child.kill('SIGTERM')
  expect(await second.ended).toEqual([0, null])
})

test('the commands of the page on monitoring are answered, and its configuration asks addresses that answer', async () => {
  const page = docsPage('how-to/monitoring.md')
  const type = typing({ DATABASE_URL: (await makeQueue()).url })
  const shown = [...page.matchAll(/\| `npx holdfast ([^`]+)` \|/g)].map(([, words]) => words as string)
  expect(shown).toHaveLength(4)
  const lines = blocks(page, 'sh').flatMap((block) => block.trim().split('\n'))
  // A worker is started by the test above; here is nothing for it to run.
  const typed = lines.map((line) => line.replace('npx holdfast ', '')).filter((line) => !line.startsWith('work '))
  for (const words of [...typed, ...shown]) {
    const { code, err } = await type(words.split(' '))
    expect(code, `holdfast ${words}: ${err}`).toBe(0)
  }
  // That these are the metrics there are is tested with that page.
  const metrics = docsPage('metrics.md')
  for (const [, name] of page.matchAll(/\| `(holdfast_\w+)` \|/g)) expect(metrics).toContain(`| \`${name}\` `)
  const [yaml = ''] = blocks(page, 'yaml')
  const { rule_files: files, scrape_configs: scraped } = load(yaml) as {
    rule_files: string[]
    scrape_configs: { job_name: string; static_configs: { targets: string[] }[] }[]
  }
  for (const file of files) expect(readFileSync(join(repository, 'docs', file), 'utf8')).toContain('groups:')
  const ports = scraped.flatMap((one) => one.static_configs.flatMap(({ targets }) => targets.map((at) => at.split(':')[1])))
  expect(new Set(ports)).toEqual(new Set(['7070', '7071']))
})

whenInstalled(
  'pgbouncer',
  'the line of the page on PgBouncer makes a client that enqueues and works behind it',
  async (program) => {
    const queue = await makeQueue()
    const url = await startPgBouncer(program, queue.url, 5)
    const [line = ''] = blocks(docsPage('pgbouncer.md'), 'js')
    const here = line.replace('postgres://app@pgbouncer:6432/app', url)
    const holdfast: Holdfast = await runExample(`${here}\nreturn holdfast`, { Holdfast })
    onTestFinished(() => holdfast.close())
    const type = defineType({ type: 'send_email', run: () => 'sent' })
    await startHere({ holdfast }, [type], { listen: false })
    expect(await holdfast.wait(await holdfast.enqueue(type, {}))).toBe('sent')
  },
)
