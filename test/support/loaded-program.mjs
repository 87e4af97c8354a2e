// Imports a file as a program of its own, and writes every file that was loaded for it, a line each, into HOLDFAST_LOADED_FILE: modules as
// the loader reads them, CommonJS from its cache at the end, where a package's own requires are found.
import { appendFileSync } from 'node:fs'
import { createRequire, register } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'

const list = process.env.HOLDFAST_LOADED_FILE
// Written by the loader's own thread and at once: a program may end with process.exit before a message would arrive.
const hooks = `
import { appendFileSync } from 'node:fs'
export async function load(url, context, next) {
  appendFileSync(${JSON.stringify(list)}, url + '\\n')
  return next(url, context)
}`
register(`data:text/javascript,${encodeURIComponent(hooks)}`)
process.on('exit', () => {
  const required = Object.keys(createRequire(import.meta.url).cache)
  appendFileSync(list, required.map((file) => `${pathToFileURL(file).href}\n`).join(''))
})

const [file, ...args] = process.argv.slice(2)
process.argv = [process.execPath, fileURLToPath(file), ...args]
await import(file)
