import { existsSync, statSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { dirname, join } from 'node:path'
import { makeScratchDatabase } from 'holdfast/testing'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { readStartSettings } from '../../src/cli/up/settings.js'
import { onDatabase } from '../support/empty-database.js'
import { clearUp, emptyDirectory, Program, RunningHoldfast } from '../support/holdfast-program.js'
import { processesNaming } from '../support/machine.js'
import { sized } from '../support/sized.js'

const off = { HOLDFAST_DEMO: 'off' }
const usualPort = 7070

let directory: string | undefined
afterEach(async () => {
  if (directory) await clearUp(directory)
  directory = undefined
})

describe('the port', () => {
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
  test('off leaves out the demo: no types but those that send requests, no jobs, the worker does upkeep; the port is the next free one where the usual one is taken, and open to this machine only', {
    timeout: 120_000,
  }, async () => {
    directory = await emptyDirectory()
    await occupy(usualPort)
    const holdfast = await RunningHoldfast.start(directory, { env: { ...off, ...(await onTheTestServer()), PORT: '' } })
    const port = Number(new URL(holdfast.address).port)
    expect(port).toBeGreaterThan(usualPort)
    expect(port).toBeLessThan(usualPort + 100)
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

  test('anything but on and off is refused', () => {
    expect(refusal({ HOLDFAST_DEMO: 'perhaps' })).toBe('HOLDFAST_DEMO is "perhaps"; it must be on or off')
  })
})

test('a log level that does not exist is refused with those that do', () => {
  expect(refusal({ HOLDFAST_LOG_LEVEL: 'loud' })).toMatch(
    /^HOLDFAST_LOG_LEVEL is "loud"; it must be one of trace, debug, info[^\n]*$/,
  )
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
    await onDatabase(database.DATABASE_URL, async (client) => {
      const { rows } = await client.query('select status from holdfast.jobs where id = $1', [id])
      expect(rows).toEqual([{ status: 'completed' }])
    })
  })

  test('that nobody answers at is one clear line', { timeout: 60_000 }, async () => {
    directory = await emptyDirectory()
    const holdfast = new Program(directory, ['up'], { env: { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' } })
    expect(await holdfast.ended).toBe(1)
    expect(holdfast.complaints).toMatch(/^holdfast: the database did not answer: .*ECONNREFUSED 127\.0\.0\.1:1\n$/)
  })

  test('that is no address of a database is refused, and not repeated', () => {
    const complaint = refusal({ DATABASE_URL: 'mysql://root:secret@db' })
    expect(complaint).toMatch(/^DATABASE_URL is not the address of a PostgreSQL database[^\n]*$/)
    expect(complaint).not.toContain('secret')
  })
})

test('an admin key that somebody cut short is refused and not replaced', async () => {
  directory = await emptyDirectory()
  const file = join(directory, '.holdfast', 'admin.key')
  await mkdir(dirname(file))
  await writeFile(file, 'short\n', { mode: 0o644 })
  const holdfast = new Program(directory, ['up'], { env: { ...off, ...(await onTheTestServer()), PORT: '0' } })
  expect(await holdfast.ended).toBe(1)
  expect(holdfast.complaints).toMatch(/^holdfast: \.holdfast\/admin\.key has no key of at least 20 characters/)
  expect(await readFile(file, 'utf8')).toBe('short\n')
  expect(statSync(file).mode & 0o777).toBe(0o600)
}, 120_000)

/** What `holdfast up` says of this environment before it does anything. How it says so, and that nothing was begun, the refused ports show. */
function refusal(env: Record<string, string>): string {
  try {
    readStartSettings(env)
  } catch (error) {
    return (error as Error).message
  }
  return 'not refused'
}

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
