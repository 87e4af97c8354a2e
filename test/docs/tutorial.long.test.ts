/** The tutorial from the first line to the last: its files are written, its commands typed, and its outputs compared. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeScratchDatabase } from 'holdfast/testing'
import { afterEach, expect, test } from 'vitest'
import { docsPage } from '../support/docs-page.js'
import { repository } from '../support/source.js'

const page = docsPage('tutorial.md')
/** Its blocks in their order; a block of TypeScript with the file that the text before it names. */
const blocks = [...page.matchAll(/```(\w+)\n([\s\S]*?)```/g)].map(({ index, 1: language, 2: text }) => ({
  language,
  text: text as string,
  file: [...page.slice(0, index).matchAll(/`([\w.]+\.ts)`/g)].at(-1)?.[1],
}))

/** Set up by the test itself: the project, the database of this run, and the server of the last chapter. */
const notTyped = /^(npm |export |HOLDFAST_DEMO=off npx holdfast up|npx holdfast serve)/

/** What the reader sees of commands whose output the page describes in words. */
const seen: Record<string, RegExp> = {
  'npx tsx send.ts slow@example.com': /^Welcome to slow@example.com$/m,
  'npx holdfast jobs ls --status completed': /send_email +completed +2/,
  'npx tsx send.ts nobody@nowhere.example': /nobody@nowhere\.example does not exist/,
  'npx holdfast dlq ls': /send_email .*nobody@nowhere\.example does not exist/,
  'npx tsx order.ts fail': /^\{ orders: 0 \}$/m,
  'npx tsx order.ts': /^\{ orders: 1 \}$/m,
  'npx holdfast schedules ls': /report +\* \* \* \* \*/,
  'npx tsx --test shop.test.ts': /^# pass 1$/m,
  'npx holdfast keys create shop --role producer': /hf_\w+/,
}

const left: (() => unknown)[] = []
afterEach(async () => {
  for (const end of left.splice(0).reverse()) await end()
})

test('the tutorial runs as it stands', { timeout: 180_000 }, async () => {
  const scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  left.push(() => scratch.drop())
  // Inside of the repository, where the other packages are found; this one is linked, as an install would put it there.
  const folder = mkdtempSync(join(repository, '.readme-tutorial-'))
  left.push(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(repository, join(folder, 'node_modules', 'holdfast'))
  const env = { ...process.env, DATABASE_URL: scratch.connectionString, NO_COLOR: '1', HOLDFAST_LOG_LEVEL: 'warn' }
  const programOf = (words: readonly string[]) =>
    words[0] === 'tsx'
      ? [join(repository, 'node_modules', 'tsx', 'dist', 'cli.mjs'), ...words.slice(1)]
      : [join(repository, 'dist', 'cli', 'main.js'), ...words.slice(1)]

  let worker: ChildProcess | undefined
  const stopWorker = async () => {
    if (!worker || worker.exitCode !== null) return
    worker.kill('SIGTERM')
    await once(worker, 'exit')
  }
  left.push(stopWorker)
  let printed = ''
  const typed: string[] = []
  for (const { language, text, file } of blocks) {
    if (language === 'ts') writeFileSync(join(folder, file as string), text)
    if (language === 'text') expect(printed).toContain(text)
    if (language !== 'sh') continue
    for (const line of text.trim().split('\n')) {
      if (notTyped.test(line)) continue
      const words = line.replace(/^npx /, '').split(' ')
      typed.push(line)
      if (words[1] === 'work') {
        await stopWorker()
        worker = spawn(process.execPath, programOf(words), { cwd: folder, env, stdio: 'ignore' })
        continue
      }
      const { stdout, stderr } = spawnSync(process.execPath, programOf(words), { cwd: folder, env, encoding: 'utf8' })
      printed = `${stdout}${stderr}`
      if (seen[line]) expect(printed, line).toMatch(seen[line])
    }
  }
  expect(Object.keys(seen).filter((line) => !typed.includes(line))).toEqual([])
})
