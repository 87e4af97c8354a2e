// A copy of the repository whose functions can be changed, and its tests run, while the repository stays as it is.
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
// What is loaded by its real path would find the repository's own files beside it.
const copied = new Set(['dist', 'src', 'test', 'tools', 'package.json', 'vitest.config.ts'])
/** The module that the build writes the functions into, as JSON in its first line. */
const built = 'dist/store/sql-files.js'

export class Sandbox {
  #folder = mkdtempSync(join(tmpdir(), 'holdfast-mutate-'))
  #vitest

  constructor(databaseUrl) {
    this.databaseUrl = databaseUrl
    for (const name of readdirSync(root)) {
      if (copied.has(name)) cpSync(join(root, name), join(this.#folder, name), { recursive: true })
      else if (!name.startsWith('.')) symlinkSync(join(root, name), join(this.#folder, name))
    }
  }

  /** Puts a function's statement in the place of the one that the sources have; returns how to take it out. */
  put(file, statement, changed) {
    const undo = [built, `src/store/functions/${file}`].map((path) => {
      const before = readFileSync(join(this.#folder, path), 'utf8')
      const write = (text) => writeFileSync(join(this.#folder, path), text)
      const plain = (text) => (path === built ? JSON.stringify(text).slice(1, -1) : text)
      const after = before.replace(plain(statement), () => plain(changed))
      if (after === before) throw new Error(`${path} does not hold this function as it is:\n${statement}`)
      write(after)
      return () => write(before)
    })
    return () => {
      for (const each of undo) each()
    }
  }

  /** Runs tests until the first that fails. Says which that is, undefined where none did; `late` where they took longer than `withinMs`. */
  async run(files, withinMs) {
    const results = join(this.#folder, 'results.json')
    rmSync(results, { force: true })
    const args = ['run', '--bail=1', '--reporter=json', `--outputFile=${results}`]
    const { CI: _, ...env } = process.env
    const vitest = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...args, ...files], {
      cwd: this.#folder,
      stdio: 'ignore',
      env: { ...env, DATABASE_URL: this.databaseUrl, HOLDFAST_LONG: '0' },
    })
    this.#vitest = vitest
    let late = false
    const timer = setTimeout(() => {
      late = true
      vitest.kill('SIGTERM')
    }, withinMs)
    const code = await new Promise((resolve) => vitest.on('close', resolve))
    clearTimeout(timer)
    this.#vitest = undefined
    if (late) return { late: true }
    if (code === 0) return {}
    return { failed: failureIn(results, this.#folder) }
  }

  close() {
    this.#vitest?.kill('SIGTERM')
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
}

/** The first test that failed, and its file; where the run itself failed, it says so and runs nothing more. */
function failureIn(results, folder) {
  const { testResults } = JSON.parse(readFileSync(results, 'utf8'))
  for (const { name, status, assertionResults } of testResults) {
    const test = assertionResults.find((one) => one.status === 'failed')
    const file = name.slice(name.indexOf(folder) + folder.length + 1)
    if (test || status === 'failed') return { file, test: test?.fullName ?? 'the file itself' }
  }
  throw new Error(`the tests of ${folder} failed, and none of them says so`)
}
