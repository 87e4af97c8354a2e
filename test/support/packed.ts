import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export const repository = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

export interface Checkout {
  directory: string
  /** npm with these arguments, there. */
  npm(...args: string[]): Promise<{ stdout: string; stderr: string }>
  remove(): Promise<void>
}

/** The repository as somebody has it who has installed its dependencies and built nothing. */
export async function unbuiltCheckout(): Promise<Checkout> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-checkout-'))
  const { stdout } = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: repository })
  const files = stdout.split('\n').filter((file) => /^(src|dashboard|tools|docs)\/|^[^/]+$/.test(file))
  for (const file of files) {
    await mkdir(dirname(join(directory, file)), { recursive: true })
    await cp(join(repository, file), join(directory, file))
  }
  await symlink(join(repository, 'node_modules'), join(directory, 'node_modules'))
  return {
    directory,
    npm: (...args) => npm(directory, ...args),
    remove: () => rm(directory, { recursive: true, force: true }),
  }
}

/** The npm of this machine, in that directory. */
export function npm(directory: string, ...args: string[]): Promise<{ stdout: string; stderr: string }> {
  // Settings that the npm which runs the tests has put into the environment are not those of a user.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith('npm_')))
  return run('npm', args, { cwd: directory, env, shell: process.platform === 'win32' })
}

export interface Packed {
  /** The .tgz. */
  file: string
  paths: string[]
  unpackedBytes: number
}

/** `npm pack` in the checkout. */
export async function pack(checkout: Checkout): Promise<Packed> {
  const { stdout } = await checkout.npm('pack', '--json')
  const [packed] = JSON.parse(stdout)
  const paths = packed.files.map(({ path }: { path: string }) => path)
  return { file: join(checkout.directory, packed.filename), paths, unpackedBytes: packed.unpackedSize }
}

/** A text file out of the package. */
export async function unpack(packed: Packed, directory: string): Promise<(path: string) => Promise<string>> {
  await run('tar', ['xzf', packed.file, '-C', directory])
  return (path) => readFile(join(directory, 'package', path), 'utf8')
}
