import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

export interface AnotherVersion {
  /** What Holdfast.migrate() answered, or the error it threw, in a process that runs this version. */
  migrate(url: string): Promise<{ applied: { number: number; name: string }[] } | { code: string; message: string }>
  remove(): Promise<void>
}

/** The built package as it might be in another release: `change` gets the migrations by file name and answers with others. */
export async function makeVersion(change: (migrations: Map<string, string>) => void): Promise<AnotherVersion> {
  const directory = await mkdtemp(join(tmpdir(), 'holdfast-version-'))
  await cp(join(repository, 'dist'), join(directory, 'dist'), { recursive: true })
  await cp(join(repository, 'package.json'), join(directory, 'package.json'))
  await symlink(join(repository, 'node_modules'), join(directory, 'node_modules'))
  const folder = join(directory, 'dist', 'store', 'migrations')
  const migrations = new Map<string, string>()
  for (const file of await readdir(folder)) migrations.set(file, await readFile(join(folder, file), 'utf8'))
  change(migrations)
  await rm(folder, { recursive: true })
  await cp(join(repository, 'dist', 'store', 'migrations'), folder, { recursive: true, filter: (path) => !path.endsWith('.sql') })
  for (const [file, sql] of migrations) await writeFile(join(folder, file), sql)
  const index = pathToFileURL(join(directory, 'dist', 'index.js')).href
  return {
    async migrate(url) {
      const program = `
        import { Holdfast } from ${JSON.stringify(index)}
        const holdfast = new Holdfast({ connectionString: ${JSON.stringify(url)} })
        const answer = await holdfast.migrate().then((applied) => ({ applied }), ({ code, message }) => ({ code, message }))
        await holdfast.close()
        console.log(JSON.stringify(answer))`
      const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program])
      return JSON.parse(stdout)
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  }
}
