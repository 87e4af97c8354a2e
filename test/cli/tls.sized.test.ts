import { existsSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { join } from 'node:path'
import { makeScratchDatabase } from 'holdfast/testing'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { Authority, type Pair } from '../support/certificates.js'
import { clearUp, emptyDirectory, Program, RunningHoldfast } from '../support/holdfast-program.js'
import { whenInstalled } from '../support/programs.js'
import { sized } from '../support/sized.js'

let directory: string
beforeEach(async () => {
  directory = await emptyDirectory()
})
afterEach(async () => clearUp(directory))

const refused: [env: Record<string, string>, complaint: RegExp][] = [
  [{ HOLDFAST_HOST: '0.0.0.0' }, /^holdfast: tls is missing: on 0\.0\.0\.0 .*HOLDFAST_TLS_CERT.*HOLDFAST_ALLOW_INSECURE=1\)\n$/],
  [
    { HOLDFAST_TLS_CERT: 'package.json', HOLDFAST_TLS_CLIENTS: 'billing' },
    /:\n {2}HOLDFAST_TLS_CERT is "package.json", which cannot be read: .*\n {2}HOLDFAST_TLS_CLIENTS is "billing".*\n {2}HOLDFAST_TLS_KEY is missing.*\n$/,
  ],
  [{ HOLDFAST_TLS_CA: '/dev/null', HOLDFAST_TLS_KEY: '/dev/null' }, /^holdfast: HOLDFAST_TLS_CERT is missing[^\n]*\n$/],
  [{ HOLDFAST_TLS_CA: '/dev/null' }, /^holdfast: HOLDFAST_TLS_CERT is missing[^\n]*\n$/],
  [{ HOLDFAST_ALLOW_INSECURE: 'maybe' }, /^holdfast: HOLDFAST_ALLOW_INSECURE is "maybe"; it must be on or off\n$/],
]

test.each(sized({ sample: refused.slice(0, 2), whole: refused }))(
  'holdfast up refuses %o before anything is started',
  async (env, complaint) => {
    const holdfast = new Program(directory, ['up'], { env })
    expect(await holdfast.ended).toBe(1)
    expect(holdfast.complaints).toMatch(complaint)
    expect(existsSync(join(directory, '.holdfast'))).toBe(false)
  },
)

whenInstalled(
  'openssl',
  'holdfast up speaks HTTPS, and takes the certificates that holdfast keys trust names',
  async (openssl) => {
    const authority = new Authority(openssl, 'our authority')
    onTestFinished(() => authority.end())
    const scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
    onTestFinished(() => scratch.drop() as Promise<void>)
    const own = authority.sign('/CN=holdfast.internal')
    const client = authority.sign('/CN=ops.internal')
    const files = Object.entries({ CERT: own.cert, KEY: own.key, CA: authority.cert }).map(([name, pem]) => {
      writeFileSync(authority.path(name), pem)
      return [`HOLDFAST_TLS_${name}`, authority.path(name)]
    })
    const env = { HOLDFAST_DEMO: 'off', DATABASE_URL: scratch.connectionString, ...Object.fromEntries(files) }
    const holdfast = await RunningHoldfast.start(directory, { env })
    const status = (pair?: Pair) =>
      new Promise<number | undefined>((resolve, reject) => {
        get(`${holdfast.address}/status`, { ca: authority.cert, agent: false, ...pair }, (response) => {
          response.resume()
          resolve(response.statusCode)
        }).on('error', reject)
      })
    expect(holdfast.address).toMatch(/^https:/)
    expect(await status()).toBe(401)
    const trusted = new Program(directory, ['keys', 'trust', 'ops', 'ops.internal', '--role', 'viewer'], { env })
    expect(await trusted.ended).toBe(0)
    expect(trusted.output).toMatch(/^Certificates of ops\.internal are accepted as ops\. To revoke that, revoke key \d+\.\n$/)
    expect(await status(client)).toBe(200)
    const listed = new Program(directory, ['keys', 'list'], { env })
    expect(await listed.ended).toBe(0)
    expect(listed.output).toMatch(/ops +ops\.internal +live +viewer/)
    expect(await holdfast.end('SIGTERM')).toBe(0)
  },
  120_000,
)
