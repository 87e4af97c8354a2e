// Another version of the package, with the programs of the bench beside it, so that they use it.
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** `change` gets the SQL of this version by folder (schema, functions, queries) and file, and changes it. */
export function makeVersion(version, change) {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-version-'))
  const remove = () => rmSync(directory, { recursive: true, force: true })
  process.once('exit', remove)
  cpSync(join(root, 'dist'), join(directory, 'dist'), { recursive: true })
  cpSync(join(root, 'chaos'), join(directory, 'chaos'), { recursive: true })
  const manifest = { ...JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')), version }
  writeFileSync(join(directory, 'package.json'), JSON.stringify(manifest))
  writeFileSync(join(directory, 'dist', 'version.js'), `export const version = ${JSON.stringify(version)}\n`)
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  // The build puts the SQL into this module, as one line of JSON.
  const module = join(directory, 'dist', 'store', 'sql-files.js')
  const [first, ...rest] = readFileSync(module, 'utf8').split('\n')
  const files = JSON.parse(first.slice('const files = '.length))
  change(files)
  writeFileSync(module, [`const files = ${JSON.stringify(files)}`, ...rest].join('\n'))
  return {
    programs: pathToFileURL(join(directory, 'chaos', 'load', '/')),
    async migrate(url) {
      const { Holdfast } = await import(pathToFileURL(join(directory, 'dist', 'index.js')).href)
      const holdfast = new Holdfast({ connectionString: url })
      return holdfast.migrate().finally(() => holdfast.close())
    },
    remove() {
      process.off('exit', remove)
      remove()
    },
  }
}
