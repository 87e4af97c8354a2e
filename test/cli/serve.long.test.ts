import { readdir, writeFile } from 'node:fs/promises'
import https from 'node:https'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Holdfast } from 'holdfast'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Authority } from '../support/certificates.js'
import { makeEmptyDatabase } from '../support/empty-database.js'
import { clearUp, emptyDirectory, Program } from '../support/holdfast-program.js'
import { whenInstalled } from '../support/programs.js'
import { startRoundRobin } from '../support/round-robin.js'
import { repository } from '../support/source.js'

const patient = { timeout: 60_000, interval: 50 }
const adminKey = 'hf_a-key-that-is-long-enough'

let scratch: ScratchDatabase
let directory: string
beforeAll(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
})
afterAll(() => scratch.drop())
beforeEach(async () => {
  directory = await emptyDirectory()
})
afterEach(() => clearUp(directory))

const env = (more: Record<string, string> = {}) => ({ DATABASE_URL: scratch.connectionString, PORT: '0', ...more })

/** A server in a process of its own, once its log says where it listens. */
async function serving(args: readonly string[] = [], more: Record<string, string> = {}) {
  const program = new Program(directory, ['serve', ...args], { env: env({ HOLDFAST_ADMIN_KEY: adminKey, ...more }) })
  const lines = () => program.complaints.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []))
  const address = await vi.waitUntil(() => {
    if (program.process.exitCode !== null) throw new Error(program.complaints)
    return lines().find(({ msg }) => msg === 'server listening')?.address as string | undefined
  }, patient)
  const get = (path: string, key = adminKey) => fetch(address + path, { headers: { authorization: `Bearer ${key}` } })
  return { program, address, lines, get }
}

async function refused(args: readonly string[], more: Record<string, string>): Promise<string> {
  const program = new Program(directory, ['serve', ...args], { env: more })
  expect(await program.ended).toBe(1)
  return program.complaints
}

describe('holdfast serve', () => {
  test('runs as several replicas, of which one can stop without a failed request', { timeout: 120_000 }, async () => {
    const [one, two] = await Promise.all([serving(['--grace', '3s']), serving(['--trust-proxy', '127.0.0.1'])])
    const { address, sent, healthy } = await startRoundRobin([one.address, two.address])
    const entered = await fetch(`${address}/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify({ key: adminKey }),
    })
    // One cookie of one address, whichever server answers; the port of the address is in its name.
    const cookie = entered.headers.get('set-cookie')?.split(';')[0] as string
    const ask = async () => (await fetch(`${address}/status`, { headers: { cookie } })).status
    for (let n = 0; n < 6; n++) expect(await ask()).toBe(200)
    expect(Math.min(...sent.values())).toBeGreaterThan(1)
    const { port } = new URL(two.address)
    expect(await refused(['--port', port], env())).toMatch(
      `port ${port} is taken by another program; set another PORT, or --port`,
    )

    const ended = one.program.end('SIGTERM')
    const answers: number[] = []
    while (healthy.has(one.address)) answers.push(await ask())
    for (let n = 0; n < 6; n++) answers.push(await ask())
    expect(await ended).toBe(0)
    for (let n = 0; n < 3; n++) answers.push(await ask())
    expect(answers.filter((status) => status !== 200)).toEqual([])
    expect(one.lines().map(({ msg }) => msg)).toEqual(expect.arrayContaining(['server stopping', 'server stopped']))
    expect(await two.program.end('SIGINT')).toBe(0)
    expect(await readdir(directory)).toEqual([])
  })

  test('runs a worker beside it, and jobs that run end before it stops', { timeout: 120_000 }, async () => {
    const handlers = join(directory, 'handlers.mjs')
    const library = pathToFileURL(join(repository, 'dist', 'index.js')).href
    await writeFile(
      handlers,
      `import { defineType } from '${library}'
       export const slow = defineType({ type: 'slow', run: async (_, { signal, log }) => {
         await new Promise((resolve) => setTimeout(resolve, 700))
       } })`,
    )
    const { program, get, address } = await serving(['--work', handlers, '--grace', '0s', '--prefix', '/jobs'])
    expect(address).toMatch(/\/jobs$/)
    const holdfast = new Holdfast({ connectionString: scratch.connectionString })
    onTestFinished(() => holdfast.close())
    const { id } = await holdfast.enqueue('slow', {})
    await vi.waitUntil(async () => (await (await get(`/jobs/${id}`)).json()).status === 'processing', patient)
    expect(await program.end('SIGTERM')).toBe(0)
    expect(await holdfast.job(id)).toMatchObject({ status: 'completed', attempt: 1 })
  })

  whenInstalled(
    'openssl',
    'speaks HTTPS, with an admin key that stands in a file',
    async (openssl) => {
      const authority = new Authority(openssl, 'our authority')
      onTestFinished(() => authority.end())
      const own = authority.sign('/CN=holdfast.internal')
      const [cert, key, adminKeyFile] = ['server.pem', 'server.key', 'admin.key'].map((name) => authority.path(name))
      // A secret that is mounted as a file often ends with a new line.
      const texts = [own.cert, own.key, `${adminKey}\n`]
      for (const [at, path] of [cert, key, adminKeyFile].entries()) await writeFile(path as string, texts[at] as string)
      const files = { HOLDFAST_ADMIN_KEY: '', HOLDFAST_ADMIN_KEY_FILE: adminKeyFile as string }
      const tls = ['--tls-cert', cert as string, '--tls-key', key as string]
      const { program, address } = await serving([...tls, '--grace', '0s'], files)
      expect(address).toMatch(/^https:/)
      const status = (bearer: string, ca = authority.cert) =>
        new Promise<number | undefined>((resolve, reject) => {
          const headers = { authorization: `Bearer ${bearer}` }
          https
            .get(`${address}/status`, { ca, agent: false, headers }, (response) => {
              response.resume()
              resolve(response.statusCode)
            })
            .on('error', reject)
        })
      expect(await status(adminKey)).toBe(200)
      expect(await status('hf_another-key-that-is-long')).toBe(401)
      // Without the authority nobody believes the certificate, and nothing answers in plain text there.
      await expect(fetch(`${address}/status`)).rejects.toThrow()
      await expect(fetch(`${address.replace('https:', 'http:')}/status`)).rejects.toThrow()
      expect(await program.end('SIGTERM')).toBe(0)

      const missing = { ...env(), HOLDFAST_ADMIN_KEY_FILE: authority.path('none') }
      expect(await refused([], missing)).toMatch(/HOLDFAST_ADMIN_KEY_FILE is ".*none", which cannot be read/)
      const both = { ...env(), ...files, HOLDFAST_ADMIN_KEY: adminKey }
      expect(await refused([], both)).toContain('HOLDFAST_ADMIN_KEY and HOLDFAST_ADMIN_KEY_FILE exclude each other')
    },
    120_000,
  )

  test('without an admin key takes those of holdfast keys create, and says so while there is none', async () => {
    const empty = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
    onTestFinished(() => empty.drop() as Promise<void>)
    const more = { DATABASE_URL: empty.connectionString, HOLDFAST_ADMIN_KEY: '' }
    const { program, lines, get } = await serving(['--upkeep', '--grace', '0s'], more)
    expect(lines().find(({ level }) => level === 40).msg).toContain('holdfast keys create ops --role admin')
    const made = new Program(directory, ['keys', 'create', 'ops', '--role', 'admin', '--json'], { env: env(more) })
    expect(await made.ended).toBe(0)
    const { key } = JSON.parse(made.output)
    expect((await get('/readyz', key)).status).toBe(200)
    expect((await (await get('/status', key)).json()).worker).toMatchObject({ status: 'ok' })
    expect(await program.end('SIGTERM')).toBe(0)
  }, 120_000)

  test('refuses everything that is wrong at once, by the names it was given under', async () => {
    const complaint = await refused(
      ['--tls-cert', '/nowhere.pem', '--prefix', 'x', '--grace', 'soon', '--upkeep', '--work', 'a.js'],
      {
        PORT: 'http',
        HOLDFAST_ADMIN_KEY: 'short',
        HOLDFAST_TRUST_PROXY: 'everybody',
        DATABASE_URL: '',
      },
    )
    for (const part of [
      'DATABASE_URL is missing',
      'PORT is "http"',
      '--tls-cert is "/nowhere.pem", which cannot be read',
      'HOLDFAST_TLS_KEY is missing',
      'HOLDFAST_ADMIN_KEY must have at least 20 characters',
      '--prefix is "x"',
      'HOLDFAST_TRUST_PROXY has "everybody"',
      '--grace is "soon"',
      '--upkeep is not needed with --work',
    ])
      expect(complaint).toContain(part)
    expect(complaint).not.toContain('short"')
  })

  test('refuses a database that is not migrated, unless it is to migrate it', async () => {
    const bare = await makeEmptyDatabase()
    onTestFinished(() => bare.drop() as Promise<void>)
    expect(await refused([], env({ DATABASE_URL: bare.connectionString }))).toMatch(
      /run holdfast migrate before, or give --migrate\n$/,
    )
    const { program } = await serving(['--migrate', '--grace', '0s'], { DATABASE_URL: bare.connectionString })
    expect(await program.end('SIGTERM')).toBe(0)
  }, 120_000)
})
