import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { embeddedPackage, findBinaries } from '../../dev/postgres/binaries.js'
import { HoldfastError } from '../../errors.js'
import { version } from '../../version.js'
import { print } from '../print.js'

/** Of the range in peerDependencies of package.json. */
const serverPackage = 'fastify@5'

/** The error that names the first of the packages that are missing here, and all of them. */
export interface Missing {
  error: HoldfastError
  packages: string[]
}

/** The optional peers that `up` needs and does not find: what serves HTTP, and a Postgres unless there is one already. */
export async function missingPackages(databaseUrl: string | undefined): Promise<Missing | undefined> {
  const noServer = hasServer() ? undefined : serverMissing()
  const noPostgres = databaseUrl ? undefined : await findBinaries(undefined).then(() => undefined, orThrow)
  const error = noServer ?? noPostgres
  return error && { error, packages: [...(noServer ? [serverPackage] : []), ...(noPostgres ? [embeddedPackage] : [])] }
}

/** For commands that serve HTTP and install nothing. */
export function requireServer(): void {
  if (!hasServer()) throw serverMissing()
}

function hasServer(): boolean {
  try {
    return createRequire(import.meta.url).resolve('fastify') !== ''
  } catch {
    return false
  }
}

function serverMissing(): HoldfastError {
  const message = `the HTTP server needs the npm package fastify, which is not installed: npm install ${serverPackage}, or holdfast up --install`
  return new HoldfastError('package_missing', message)
}

function orThrow(error: unknown): HoldfastError {
  if (error instanceof HoldfastError && error.code === 'postgres_missing') return error
  throw error
}

/** Asks the person at this terminal. Everybody else has to say --install. */
export async function agreedTo({ packages }: Missing): Promise<boolean> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return false
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const question = `  Install ${packages.join(' and ')} into this project, for development? [Y/n] `
  const answer = await terminal.question(question).finally(() => terminal.close())
  return /^(y|yes)?$/i.test(answer.trim())
}

/**
 * Installs them into the project with npm and runs `up` again, from the project: this process may come from elsewhere (npx), and Node remembers
 * what it did not find. Ends this process with that one.
 */
export async function installAndRunAgain({ packages }: Missing, schema: string | undefined): Promise<never> {
  const project = npm('prefix')
  const program = join(project, 'node_modules', 'holdfast', 'dist', 'cli', 'main.js')
  const all = existsSync(program) ? packages : [`holdfast@${version}`, ...packages]
  print(`  Installing ${all.join(', ')} …`)
  // The one install script among them makes links, and those are made anyway where they are missing.
  npm('install', '--save-dev', '--ignore-scripts', '--no-audit', '--no-fund', ...all)
  const again = spawn(process.execPath, [program, ...(schema === undefined ? [] : ['--schema', schema]), 'up'], {
    stdio: 'inherit',
  })
  // Ctrl-C reaches both; a SIGTERM reaches only us.
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
  process.on('SIGTERM', () => void again.kill('SIGTERM'))
  const [code] = await once(again, 'close')
  process.exit(code ?? 1)
}

function npm(...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync('npm', args, {
    encoding: 'utf8',
    windowsHide: true,
    // npm is a .cmd file there, which only a shell runs.
    shell: process.platform === 'win32',
  })
  if (status === 0) return stdout.trim()
  throw new HoldfastError('package_missing', `npm ${args.join(' ')} failed: ${error?.message ?? stderr.trim()}`)
}
