import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeScratchDatabase } from 'holdfast/testing'
import { expect, onTestFinished, test } from 'vitest'
import { typing } from '../support/cli.js'

const database = 'postgres://ada:secret@db.internal:5432/jobs'

test('holdfast config check names everything that is wrong with an environment at once, and shows no secret', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-config-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const [cert, key] = [join(directory, 'cert.pem'), join(directory, 'key.pem')]
  for (const file of [cert, key]) writeFileSync(file, 'not PEM')
  const type = typing({
    DATABASE_URL: database,
    HOLDFAST_SHEMA: 'jobs',
    HOLFDAST_REDACT: 'card',
    HOLDFAST_LANE_BULK_SLOT: '4',
    HOLDFAST_LANE_BULK_POLL: '1ms',
    HOLDFAST_LANE_BULK_ENABLED: 'maybe',
    HOLDFAST_LOG_LEVEL: 'loud',
    HOLDFAST_ENCRYPTION_ALL: 'yes',
    HOLDFAST_ADMIN_KEY: 'short',
    HOLDFAST_HEALTH_PORT: '80.5',
    HOLDFAST_TLS_CERT: cert,
    HOLDFAST_TLS_KEY: key,
    HOLDFAST_SOMETHING_ELSE: '1',
  })
  const { code, out } = await type(['config', 'check'])
  expect(code).toBe(1)
  const [table = '', problems = ''] = out.split(/\n\n\d+ problems:\n/)
  expect(table).toMatch(/^DATABASE_URL +jobs on db\.internal:5432 +library, cli$/m)
  expect(table).toMatch(/^HOLDFAST_ADMIN_KEY +\(secret, 5 characters\) +serve$/m)
  expect(out).not.toContain('secret@')
  const said = problems.split('\n').map((line) =>
    line
      .trim()
      .replace(/\b(is|must|cannot)\b.*?(\(did you mean .*?\))?(;.*)?$/, '$1 $2')
      .trim(),
  )
  expect(said.sort()).toEqual([
    'HOLDFAST_ADMIN_KEY must',
    'HOLDFAST_ENCRYPTION_ALL is',
    'HOLDFAST_HEALTH_PORT is',
    'HOLDFAST_LANE_BULK_ENABLED is',
    'HOLDFAST_LANE_BULK_POLL is',
    'HOLDFAST_LANE_BULK_SLOT is (did you mean "SLOTS"?)',
    'HOLDFAST_LOG_LEVEL is',
    'HOLDFAST_SHEMA is (did you mean "HOLDFAST_SCHEMA"?)',
    'HOLDFAST_SOMETHING_ELSE is',
    'HOLFDAST_REDACT is (did you mean "HOLDFAST_REDACT"?)',
    'tls cannot',
  ])
})

test('the secret that the provider of identities gave is not shown', async () => {
  const { out } = await typing({ HOLDFAST_OIDC_CLIENT_SECRET: 'of the provider' })(['config', 'check'])
  expect(out).toMatch(/^HOLDFAST_OIDC_CLIENT_SECRET +\(secret, 15 characters\) +serve$/m)
  expect(out).not.toContain('of the provider')
})

test('an environment without problems ends with 0, also beside the variables that Kubernetes makes of a service called holdfast', async () => {
  const kubernetes = {
    HOLDFAST_SERVICE_HOST: '10.0.0.7',
    HOLDFAST_PORT: 'tcp://10.0.0.7:80',
    HOLDFAST_PORT_80_TCP_ADDR: '10.0.0.7',
  }
  const type = typing({ ...kubernetes, DATABASE_URL: database, HOLDFAST_LANE_BULK_SLOTS: '4' })
  expect(await type(['config', 'check', '--json'])).toMatchObject({ code: 0 })
  expect((await type(['config', 'check', 'serve'])).out).toMatch(/\n\nNo problems\.$/)
  const without = typing({})
  expect(await without(['config', 'check'])).toMatchObject({ code: 0 })
  expect((await without(['config', 'check', 'work'])).out).toMatch(/DATABASE_URL is missing/)
})

test('a command with a misspelt variable does nothing, and says which was meant', async () => {
  const type = typing({ DATABASE_URL: database, HOLDFAST_SCEMA: 'jobs' })
  expect(await type(['jobs', 'ls'])).toMatchObject({
    code: 1,
    err: 'holdfast: HOLDFAST_SCEMA is not known (did you mean "HOLDFAST_SCHEMA"?)',
  })
})

test('--schema holds for one command, and changes nothing that the next one reads', async () => {
  const scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  onTestFinished(() => scratch.drop())
  const type = typing({ DATABASE_URL: scratch.connectionString })
  const before = process.env.HOLDFAST_SCHEMA
  expect((await type(['--schema', 'jobs_eu', 'migrate'])).code).toBe(0)
  expect((await type(['--schema', 'jobs_eu', 'lanes', 'create', 'far'])).code).toBe(0)
  expect((await type(['--schema', 'jobs_eu', 'lanes', 'ls'])).out).toMatch(/^far /m)
  expect(process.env.HOLDFAST_SCHEMA).toBe(before)
  expect((await type(['lanes', 'ls'])).out).not.toMatch(/^far /m)
  const other = typing({ DATABASE_URL: scratch.connectionString, HOLDFAST_SCHEMA: 'jobs_eu' })
  expect((await other(['lanes', 'ls'])).out).toMatch(/^far /m)
})
