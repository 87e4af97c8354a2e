import { execFile } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { clearUp, emptyDirectory, Program, RunningHoldfast } from '../support/holdfast-program.js'
import { isRunning, processesNaming } from '../support/machine.js'

const program = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
const patient = { timeout: 120_000, interval: 100 }

describe('holdfast up, for the first time', () => {
  let directory: string
  let holdfast: RunningHoldfast

  beforeAll(async () => {
    directory = await emptyDirectory()
    holdfast = await RunningHoldfast.start(directory)
  }, 120_000)
  afterAll(async () => {
    await holdfast?.end('SIGKILL')
    await clearUp(directory)
  })

  test('prints where it is, a key for this machine that only its owner can read, and nothing of the log', async () => {
    const key = join(directory, '.holdfast', 'admin.key')
    expect(readFileSync(key, 'utf8').trim()).toBe(holdfast.adminKey)
    expect(statSync(key).mode & 0o777).toBe(0o600)
    expect(statSync(join(directory, '.holdfast', 'database.url')).mode & 0o777).toBe(0o600)
    expect(holdfast.output).toContain('PostgreSQL 1')
    expect(holdfast.output).not.toContain('"msg"')
    expect(holdfast.complaints).toBe('')
    expect(holdfast.output.split('\n').length).toBeLessThan(35)
  })

  test('a command that lacks a database says where that one is, as a line to copy', { timeout: 60_000 }, async () => {
    const line = /; that of holdfast up is in \.holdfast\/database\.url: (export DATABASE_URL=.*)$/m
    for (const command of [['jobs', 'ls'], ['migrate'], ['work', './jobs.js'], ['serve']]) {
      const refused = new Program(directory, command)
      expect(await refused.ended).not.toBe(0)
      expect(refused.complaints, command[0]).toMatch(line)
      const [, exporting] = line.exec(refused.complaints) as unknown as [string, string]
      const { stdout } = await promisify(execFile)('sh', ['-c', `${exporting}; echo $DATABASE_URL`], { cwd: directory })
      expect(stdout).toMatch(/^postgres:\/\/\S+\n$/)
    }
  })

  test('the printed commands work as they stand', { timeout: 60_000 }, async () => {
    const run = promisify(execFile)
    const printed = holdfast.output.slice(holdfast.output.indexOf('Try next'))
    const commands = [...printed.matchAll(/^ {5}((?:.*\\\n)*.*)$/gm)].map((found) => found[1] as string)
    expect(commands).toHaveLength(3)
    const [enqueue, read, third] = commands as [string, string, string]
    const shell = async (line: string) => (await run('/bin/sh', ['-c', line], { cwd: directory })).stdout

    const enqueued = JSON.parse(await shell(enqueue))
    expect(enqueued.status).toBe('created')
    expect(JSON.parse(await shell(enqueue))).toEqual({ ...enqueued, status: 'existing' })
    await vi.waitFor(async () => expect(JSON.parse(await shell(read))).toMatchObject({ status: 'completed' }), patient)
    expect(await shell(third.replace('npx holdfast', `${process.execPath} ${program}`))).toMatch(/demo_email|create table/)
  })

  test('the key is written nowhere but into its file', async () => {
    expect(existsSync(join(directory, '.holdfast', 'holdfast.log'))).toBe(true)
    expect(readFileSync(join(directory, '.holdfast', 'holdfast.log'), 'utf8')).not.toContain(holdfast.adminKey)
  })

  test('SIGTERM stops everything, Postgres too', { timeout: 60_000 }, async () => {
    const before = await processesNaming(directory)
    expect(before.length).toBeGreaterThan(1)
    expect(await holdfast.end('SIGTERM')).toBe(0)
    expect(before.filter(isRunning)).toEqual([])
    expect(await processesNaming(directory)).toEqual([])
  })

  test('the next start has the same key and the same jobs', { timeout: 60_000 }, async () => {
    const { adminKey, output } = holdfast
    // The one that the printed commands enqueued.
    const id = /"id": "([^"]+)"/.exec(output)?.[1]
    holdfast = await RunningHoldfast.start(directory)
    expect(holdfast.adminKey).toBe(adminKey)
    expect(await holdfast.json(`/jobs/${id}`)).toMatchObject({ type: 'demo_email', status: 'completed' })
    expect(await holdfast.end('SIGINT')).toBe(0)
    expect(await processesNaming(directory)).toEqual([])
  })
})
