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
  changeSql(join(directory, 'dist', 'store'), change)
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

/** The build puts the SQL into two modules, each as one line of JSON: what migrations need, and what every program does. */
function changeSql(directory, change) {
  const read = (module, begins) => {
    const [first, ...rest] = readFileSync(join(directory, module), 'utf8').split('\n')
    const write = (value, then = rest) =>
      writeFileSync(join(directory, module), [begins + JSON.stringify(value), ...then].join('\n'))
    return { value: JSON.parse(first.slice(begins.length)), rest, write }
  }
  const migrations = read('sql-files.js', 'const files = ')
  const queries = read('query-files.js', 'const queries = ')
  change({ ...migrations.value, queries: queries.value })
  migrations.write(migrations.value)
  const newest = Math.max(...Object.keys(migrations.value.schema).map((file) => Number.parseInt(file, 10)))
  queries.write(
    queries.value,
    queries.rest.map((line) => line.replace(/(newestSchemaFile = \(\) =>) \d+/, `$1 ${newest}`)),
  )
}
