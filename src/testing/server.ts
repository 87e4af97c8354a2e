import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fileBesideCode } from '../code-files.js'
import { HoldfastError } from '../errors.js'
import { checkVariableNames } from '../job/variable-names.js'

/** A PostgreSQL that databases can be made on, until it is released. */
export interface TestServer {
  readonly url: string
  release(): void
}

/** The given server, else HOLDFAST_TEST_URL, else DATABASE_URL, else an embedded one that this process shares. */
export async function findTestServer(given?: string): Promise<TestServer> {
  checkVariableNames(process.env)
  const url = given ?? (process.env.HOLDFAST_TEST_URL || process.env.DATABASE_URL)
  return url ? { url, release() {} } : borrowEmbedded()
}

interface Embedded {
  url: string
  guard: ChildProcess
}

/** How long the embedded server waits for another test after the last one closed its queue. Starting it takes longer. */
const lingerMs = 1_000

let embedded: Promise<Embedded> | undefined
let borrowers = 0
let lingering: NodeJS.Timeout | undefined

async function borrowEmbedded(): Promise<TestServer> {
  clearTimeout(lingering)
  borrowers += 1
  embedded ??= startEmbedded()
  try {
    const { url } = await embedded
    let released = false
    const release = () => {
      if (!released) giveBack()
      released = true
    }
    return { url, release }
  } catch (error) {
    borrowers -= 1
    embedded = undefined
    throw error
  }
}

function giveBack(): void {
  borrowers -= 1
  if (borrowers > 0) return
  // Whether this timer comes first or the end of the process: both close the guard's input.
  lingering = setTimeout(() => {
    void embedded?.then(({ guard }) => guard.stdin?.end())
    embedded = undefined
  }, lingerMs).unref()
}

/** Loaded only here, so that tests against a server of their own need none of it. */
async function startEmbedded(): Promise<Embedded> {
  const { startPostgres } = await import('../dev/postgres/index.js')
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-testing-'))
  const guard = startGuard()
  guard.stdin?.write(`${dataDir}\n`)
  try {
    // Safe against nothing but a crash of the machine, after which no test is of interest.
    const postgres = await startPostgres({ dataDir, settings: { fsync: 'off', max_connections: '200' } })
    guard.stdin?.write(`${dirname(postgres.dataDir)}\n`)
    return { url: postgres.connectionString, guard }
  } catch (error) {
    guard.stdin?.end()
    throw error
  }
}

/** A process that ends the server when we end, however that happens: by itself, by Ctrl-C or by kill -9. */
function startGuard(): ChildProcess {
  const file = fileBesideCode('testing/server-guard.js')
  if (!file) {
    const message =
      'tests that were bundled cannot start a PostgreSQL of their own: name one in HOLDFAST_TEST_URL or DATABASE_URL, or leave holdfast out of the bundle'
    throw new HoldfastError('postgres_missing', message)
  }
  const guard = spawn(process.execPath, [fileURLToPath(file)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    windowsHide: true,
    cwd: tmpdir(),
  })
  guard.unref()
  ;(guard.stdin as Socket).unref()
  guard.stdin?.on('error', () => {})
  return guard
}
