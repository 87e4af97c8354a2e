// Another version of the package, with the programs of the bench beside it, so that they use it.
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** `leave`: migrations it does not have yet, by the beginning of their names; `add`: those it has beyond ours, by name. */
export function makeVersion({ leave = [], add = {} }) {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-version-'))
  const remove = () => rmSync(directory, { recursive: true, force: true })
  process.once('exit', remove)
  const missing = (path) => leave.some((beginning) => path.includes(join('migrations', beginning)))
  cpSync(join(root, 'dist'), join(directory, 'dist'), { recursive: true, filter: (path) => !missing(path) })
  cpSync(join(root, 'chaos'), join(directory, 'chaos'), { recursive: true })
  cpSync(join(root, 'package.json'), join(directory, 'package.json'))
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  for (const [name, text] of Object.entries(add)) writeFileSync(join(directory, 'dist', 'store', 'migrations', name), text)
  return {
    programs: pathToFileURL(join(directory, 'chaos', 'load', '/')),
    async migrate(url) {
      const { Holdfast } = await import(pathToFileURL(join(directory, 'dist', 'index.js')).href)
      const holdfast = new Holdfast({ connectionString: url })
      const applied = await holdfast.migrate().finally(() => holdfast.close())
      return applied.map(({ name }) => name)
    },
    remove() {
      process.off('exit', remove)
      remove()
    },
  }
}
