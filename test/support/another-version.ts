import { execFile } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { Migrated } from '../../src/store/migrate.js'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

export type Failed = { code: string; message: string }

export interface AnotherVersion {
  /** What Holdfast.migrate() of this version answered, or the error it threw. Here: its modules are others than ours. */
  migrate(url: string): Promise<Migrated | Failed>
  /** The same in a process that runs this version. */
  migrateInItsProcess(url: string): Promise<Migrated | Failed>
  remove(): Promise<void>
}

/** The SQL of a release, by folder and file name, and its version. */
export interface Release {
  version: string
  schema: Record<string, string>
  functions: Record<string, string>
}

/** The built package as it might be in another release: `change` gets this one's SQL and version, and changes them. */
export async function makeVersion(change: (release: Release) => unknown): Promise<AnotherVersion> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-version-'))
  await cp(join(repository, 'dist'), join(directory, 'dist'), { recursive: true })
  const manifest = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8'))
  await symlink(join(repository, 'node_modules'), join(directory, 'node_modules'))
  // The build puts the SQL into this module, as one line of JSON.
  const module = join(directory, 'dist', 'store', 'sql-files.js')
  const [first = '', ...rest] = (await readFile(module, 'utf8')).split('\n')
  const release: Release = { version: manifest.version, ...JSON.parse(first.slice('const files = '.length)) }
  change(release)
  const { version, ...files } = release
  await writeFile(module, [`const files = ${JSON.stringify(files)}`, ...rest].join('\n'))
  await writeFile(join(directory, 'dist', 'version.js'), `export const version = ${JSON.stringify(version)}\n`)
  await writeFile(join(directory, 'package.json'), JSON.stringify({ ...manifest, version }))
  const index = pathToFileURL(join(directory, 'dist', 'index.js')).href
  return {
    async migrate(url) {
      const { Holdfast } = (await import(/* @vite-ignore */ index)) as typeof import('../../src/index.js')
      const holdfast = new Holdfast({ connectionString: url })
      const answer = await holdfast.migrate().catch(({ code, message }: Failed) => ({ code, message }))
      await holdfast.close()
      return answer
    },
    async migrateInItsProcess(url) {
      const program = `
        import { Holdfast } from ${JSON.stringify(index)}
        const holdfast = new Holdfast({ connectionString: ${JSON.stringify(url)} })
        const answer = await holdfast.migrate().catch(({ code, message }) => ({ code, message }))
        await holdfast.close()
        console.log(JSON.stringify(answer))`
      const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program])
      return JSON.parse(stdout)
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  }
}
