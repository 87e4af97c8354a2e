import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { Migrated } from '../../src/store/migrate.js'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

export type Failed = { code: string; message: string }

export interface AnotherVersion {
  /** What Holdfast.migrate() of this version answered, or the error it threw. Here: its modules are others than ours. */
  migrate(url: string): Promise<Migrated | Failed>
  /** The same in a process that runs this version, which the signal kills. */
  migrateInItsProcess(url: string, signal?: AbortSignal): Promise<Migrated | Failed>
  remove(): Promise<void>
}

/** The SQL of a release, by folder and file name, and its version. */
export interface Release {
  version: string
  schema: Record<string, string>
  functions: Record<string, string>
}

let bundled: Promise<string> | undefined

/** The built package as one file, because each version loads all of it anew. What differs between releases stands beside it. */
async function bundle(): Promise<string> {
  const { build } = await import('esbuild')
  const { outputFiles } = await build({
    entryPoints: [join(repository, 'dist', 'index.js')],
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    write: false,
    plugins: [
      {
        name: 'what differs between releases',
        setup: ({ onResolve }) =>
          onResolve({ filter: /\/(version|sql-files)\.js$/ }, ({ path }) => ({ path: `./${basename(path)}`, external: true })),
      },
    ],
  })
  return outputFiles[0]?.text as string
}

/** The built package as it might be in another release: `change` gets this one's SQL and version, and changes them. */
export async function makeVersion(change: (release: Release) => unknown): Promise<AnotherVersion> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-version-'))
  const manifest = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8'))
  await symlink(join(repository, 'node_modules'), join(directory, 'node_modules'))
  // The build puts the SQL into this module, as one line of JSON.
  const [first = '', ...rest] = (await readFile(join(repository, 'dist', 'store', 'sql-files.js'), 'utf8')).split('\n')
  const release: Release = { version: manifest.version, ...JSON.parse(first.slice('const files = '.length)) }
  change(release)
  const { version, ...files } = release
  bundled ??= bundle()
  await writeFile(join(directory, 'index.js'), await bundled)
  await writeFile(join(directory, 'sql-files.js'), [`const files = ${JSON.stringify(files)}`, ...rest].join('\n'))
  await writeFile(join(directory, 'version.js'), `export const version = ${JSON.stringify(version)}\n`)
  await writeFile(join(directory, 'package.json'), JSON.stringify({ ...manifest, version }))
  const index = pathToFileURL(join(directory, 'index.js')).href
  return {
    async migrate(url) {
      const { Holdfast } = (await import(/* @vite-ignore */ index)) as typeof import('../../src/index.js')
      const holdfast = new Holdfast({ connectionString: url })
      const answer = await holdfast.migrate().catch(({ code, message }: Failed) => ({ code, message }))
      await holdfast.close()
      return answer
    },
    async migrateInItsProcess(url, signal) {
      const program = `
        import { Holdfast } from ${JSON.stringify(index)}
        const holdfast = new Holdfast({ connectionString: ${JSON.stringify(url)} })
        const answer = await holdfast.migrate().catch(({ code, message }) => ({ code, message }))
        await holdfast.close()
        console.log(JSON.stringify(answer))`
      const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], {
        killSignal: 'SIGKILL',
        ...(signal && { signal }),
      })
      return JSON.parse(stdout)
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  }
}
