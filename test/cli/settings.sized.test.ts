import { existsSync, statSync } from 'node:fs'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { makeScratchDatabase } from 'holdfast/testing'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { clearUp, emptyDirectory, Program, RunningHoldfast } from '../support/holdfast-program.js'
import { processesNaming } from '../support/machine.js'
import { sized } from '../support/sized.js'

const off = { HOLDFAST_DEMO: 'off' }
const usualPort = 7070

let directory: string
afterEach(async () => clearUp(directory))

describe('the port', () => {
  test('is the next free one where the usual one is taken', { timeout: 120_000 }, async () => {
    directory = await emptyDirectory()
    await occupy(usualPort)
    const holdfast = await RunningHoldfast.start(directory, { env: { ...off, ...(await onTheTestServer()), PORT: '' } })
    const port = Number(new URL(holdfast.address).port)
    expect(port).toBeGreaterThan(usualPort)
    expect(port).toBeLessThan(usualPort + 100)
    expect((await holdfast.get('/status')).status).toBe(200)
    expect(await holdfast.end('SIGTERM')).toBe(0)
  })

  test('that was asked for and is taken is an error that says so, and leaves nothing running', { timeout: 120_000 }, async () => {
    directory = await emptyDirectory()
    const port = await occupy(0)
    const holdfast = new Program(directory, ['up'], { env: { ...off, PORT: String(port) } })
    expect(await holdfast.ended).toBe(1)
    expect(holdfast.complaints.trim()).toBe(
      `holdfast: port ${port} is taken by another program; set another PORT, or unset it to use a free one`,
    )
    expect(await processesNaming(directory)).toEqual([])
  })

  test.each(sized({ sample: ['70000'], whole: ['http', '70000', '-1', '80.5'] }))(
    '%s is refused before anything is started',
    async (port) => {
      directory = await emptyDirectory()
      const holdfast = new Program(directory, ['up'], { env: { PORT: port } })
      expect(await holdfast.ended).toBe(1)
      expect(holdfast.complaints).toMatch(/^holdfast: PORT is ".*"; it must be a whole number from 0 to 65535[^\n]*\n$/)
      expect(existsSync(join(directory, '.holdfast'))).toBe(false)
    },
  )
})

describe('HOLDFAST_DEMO', () => {
  test('off leaves out the demo: no types but those that send requests, no jobs, the worker does upkeep, and the port is open to this machine only', {
    timeout: 120_000,
  }, async () => {
    directory = await emptyDirectory()
    const holdfast = await RunningHoldfast.start(directory, { env: { ...off, ...(await onTheTestServer()) } })
    const status = await holdfast.json('/status')
    expect(status).toMatchObject({
      types: [{ type: 'holdfast:alert' }, { type: 'holdfast:bulk' }, { type: 'holdfast:webhook' }],
      jobs: [],
      worker: { status: 'ok', running: 0 },
    })
    expect(holdfast.output).not.toContain('demo_')
    await expectOpenToThisMachineOnly(new URL(holdfast.address))
    expect((await fetch(`${holdfast.address}/healthz`)).status).toBe(200)
    const { code, detail } = (await holdfast.enqueue({ type: 'demo_email', payload: {} })) as unknown as Record<string, string>
    expect(code).toBe('unknown_type')
    expect(detail).toContain('"demo_email"')
    expect(await holdfast.end('SIGTERM')).toBe(0)
  })

  test('anything but on and off is refused', async () => {
    directory = await emptyDirectory()
    const holdfast = new Program(directory, ['up'], { env: { HOLDFAST_DEMO: 'perhaps' } })
    expect(await holdfast.ended).toBe(1)
    expect(holdfast.complaints).toBe('holdfast: HOLDFAST_DEMO is "perhaps"; it must be on or off\n')
  })
})

test('a log level that does not exist is refused with those that do', async () => {
  directory = await emptyDirectory()
  const holdfast = new Program(directory, ['up'], { env: { HOLDFAST_LOG_LEVEL: 'loud' } })
  expect(await holdfast.ended).toBe(1)
  expect(holdfast.complaints).toMatch(/^holdfast: HOLDFAST_LOG_LEVEL is "loud"; it must be one of trace, debug, info[^\n]*\n$/)
})

describe('DATABASE_URL', () => {
  test('is used, migrated and left running, and nothing is embedded', { timeout: 120_000 }, async () => {
    directory = await emptyDirectory()
    const database = await onTheTestServer()
    const holdfast = await RunningHoldfast.start(directory, { env: database })
    const { id } = await holdfast.enqueue({ type: 'demo_email', payload: {} })
    await vi.waitFor(async () => expect(await holdfast.json(`/jobs/${id}`)).toMatchObject({ status: 'completed' }), {
      timeout: 30_000,
    })
    expect(existsSync(join(directory, '.holdfast', 'postgres'))).toBe(false)
    expect(await processesNaming(directory)).toEqual([holdfast.pid])
    const { password } = new URL(database.DATABASE_URL)
    if (password) expect(holdfast.output).not.toContain(password)
    expect(await holdfast.end('SIGTERM')).toBe(0)
    const again = await RunningHoldfast.start(directory, { env: { ...off, ...database } })
    expect(await again.json(`/jobs/${id}`)).toMatchObject({ status: 'completed' })
    expect(await again.end('SIGTERM')).toBe(0)
  })

  test('that nobody answers at is one clear line', { timeout: 60_000 }, async () => {
    directory = await emptyDirectory()
    const holdfast = new Program(directory, ['up'], { env: { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' } })
    expect(await holdfast.ended).toBe(1)
    expect(holdfast.complaints).toMatch(/^holdfast: the database did not answer: .*ECONNREFUSED 127\.0\.0\.1:1\n$/)
  })

  test('that is no address of a database is refused, and not repeated', async () => {
    directory = await emptyDirectory()
    const holdfast = new Program(directory, ['up'], { env: { DATABASE_URL: 'mysql://root:secret@db' } })
    expect(await holdfast.ended).toBe(1)
    expect(holdfast.complaints).toMatch(/^holdfast: DATABASE_URL is not the address of a PostgreSQL database[^\n]*\n$/)
    expect(holdfast.complaints).not.toContain('secret')
  })
})

test('an admin key that somebody cut short is refused and not replaced', async () => {
  directory = await emptyDirectory()
  const database = await onTheTestServer()
  const first = await RunningHoldfast.start(directory, { env: { ...off, ...database } })
  expect(await first.end('SIGTERM')).toBe(0)
  const file = join(directory, '.holdfast', 'admin.key')
  await chmod(file, 0o644)
  await writeFile(file, 'short\n')
  const second = new Program(directory, ['up'], { env: { ...off, ...database, PORT: '0' } })
  expect(await second.ended).toBe(1)
  expect(second.complaints).toMatch(/^holdfast: \.holdfast\/admin\.key has no key of at least 20 characters/)
  expect(await readFile(file, 'utf8')).toBe('short\n')
  expect(statSync(file).mode & 0o777).toBe(0o600)
}, 120_000)

/** A database that is there already: for what is tested here an embedded one is a start of PostgreSQL more, and nothing else. */
async function onTheTestServer(): Promise<{ DATABASE_URL: string }> {
  const scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  onTestFinished(() => scratch.drop())
  return { DATABASE_URL: scratch.connectionString }
}

async function expectOpenToThisMachineOnly(address: URL): Promise<void> {
  expect(address.hostname).toBe('127.0.0.1')
  const port = Number(address.port).toString(16).toUpperCase().padStart(4, '0')
  // Field 2 of the kernel's list is the local address, least significant byte first.
  const listening = (await readFile('/proc/net/tcp', 'utf8')).split('\n').filter((line) => / 0A /.test(line))
  const here = listening.filter((line) => line.includes(`:${port} `)).map((line) => line.trim().split(/\s+/)[1])
  expect(here).toEqual([`0100007F:${port}`])
}

/** Takes the port, or sees that somebody else has it. */
async function occupy(port: number): Promise<number> {
  const squatter: Server = createServer()
  onTestFinished(() => void squatter.close())
  return new Promise((resolve) => {
    squatter.once('error', () => resolve(port))
    squatter.listen(port, '127.0.0.1', () => resolve((squatter.address() as { port: number }).port))
  })
}
