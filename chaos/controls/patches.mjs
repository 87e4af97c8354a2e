// Ways to put a defect into a queue that is to be tested: none of them needs a switch in the product. A patch is an object:
//   into     what it changes, in words
//   source() the present text of that, from the sources; undefined where a patch replaces a method instead of a text
//   edit()   that text with the defect in it; throws where it holds nothing to replace, because the defect would be none
//   put()    puts it into a stage
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url)).replace(/chaos\/$/, '')
const functions = join(root, 'src', 'store', 'functions')

/** Replaces text in a function of the stage's database. `from`: short, so that it outlives what happens around it. */
export function inSql(name, from, to) {
  const into = `holdfast.${name}`
  const edit = (text) => replaced(text, from, to, into)
  return {
    into,
    source: () => bodyOf(name),
    edit,
    async put(stage) {
      const [{ text }] = await stage.sql(`select pg_get_functiondef($1::regproc) as text`, [into])
      await stage.sql(edit(text))
    },
  }
}

/** Replaces text in a file of a copy of the built package, and uses that copy. */
export function inModule(file, from, to) {
  const into = `dist/${file}`
  const edit = (text) => replaced(text, from, to, into)
  return {
    into,
    source: () => readFileSync(join(root, into), 'utf8'),
    edit,
    async put(stage) {
      const copy = mkdtempSync(join(tmpdir(), 'holdfast-defect-'))
      stage.onClose(() => rmSync(copy, { recursive: true, force: true }))
      cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true })
      cpSync(join(root, 'package.json'), join(copy, 'package.json'))
      symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
      writeFileSync(join(copy, into), edit(readFileSync(join(copy, into), 'utf8')))
      const load = (name) => import(pathToFileURL(join(copy, 'dist', name)).href)
      stage.holdfastClass = (await load('index.js')).Holdfast
      stage.startWorker = (await load('worker/index.js')).startWorker
    },
  }
}

/** Changes every way into the queue that is opened from now on. */
export function wrapping(wrap) {
  return {
    into: 'the client',
    source: () => undefined,
    async put(stage) {
      stage.wrap = wrap
    },
  }
}

function replaced(text, from, to, into) {
  const result = text.replaceAll(from, to)
  if (result !== text) return result
  throw new Error(
    `${into} does not hold\n  ${from}\nso the defect that replaces it is none any more: find its place in the present text`,
  )
}

/** The body of a function as the sources have it. */
function bodyOf(name) {
  const files = readdirSync(functions).filter((file) => file.endsWith('.sql'))
  const all = files.map((file) => readFileSync(join(functions, file), 'utf8')).join('\n')
  const begins = all.indexOf(`create or replace function holdfast.${name}(`)
  if (begins < 0) throw new Error(`no file of src/store/functions makes holdfast.${name}`)
  return all.slice(begins).split('$$')[1]
}
