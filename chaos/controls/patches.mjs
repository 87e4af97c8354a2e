// Ways to put a defect into a queue that is to be tested: none of them needs a switch in the product.
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url)).replace(/chaos\/$/, '')

/** Replaces text in a function of this stage's database. A text that is not there is an error: the defect would be none. */
export const inSql = (name, from, to) => async (stage) => {
  const [{ text }] = await stage.sql(`select pg_get_functiondef(('holdfast.' || $1)::regproc) as text`, [name])
  await stage.sql(replaced(text, from, to, `holdfast.${name}`))
}

/** Replaces text in a file of a copy of the built package, and uses that copy. */
export const inModule = (file, from, to) => async (stage) => {
  const copy = mkdtempSync(join(tmpdir(), 'holdfast-defect-'))
  stage.onClose(() => rmSync(copy, { recursive: true, force: true }))
  cpSync(join(root, 'dist'), join(copy, 'dist'), { recursive: true })
  cpSync(join(root, 'package.json'), join(copy, 'package.json'))
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  const path = join(copy, 'dist', file)
  writeFileSync(path, replaced(readFileSync(path, 'utf8'), from, to, file))
  const load = (name) => import(pathToFileURL(join(copy, 'dist', name)).href)
  stage.holdfastClass = (await load('index.js')).Holdfast
  stage.startWorker = (await load('worker/index.js')).startWorker
}

/** Changes every way into the queue that is opened from now on. */
export const wrapping = (wrap) => async (stage) => {
  stage.wrap = wrap
}

function replaced(text, from, to, where) {
  const result = text.replaceAll(from, to)
  if (result === text) throw new Error(`${where} does not hold ${from}, so this defect is none any more; bring it up to date`)
  return result
}
