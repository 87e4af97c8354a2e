/** `npm run example <name>` as a person types it, without a database: what it leaves behind. */
import { spawn } from 'node:child_process'
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { processesNaming } from '../support/machine.js'
import { repository } from '../support/source.js'

const small = {
  'event-extraction': { DOCUMENTS: '12', SPEED: '300', EXTRACTION_MS: '400' },
  'workflow-tasks': { EXECUTIONS: '20', SAMPLES: '5', TASKS: '50' },
  'sunset-scores': { EVERY: '1s', BACKOFF: '50ms' },
  signup: { STORY: 'bad-deploy,fan-out' },
  'knowledge-graph': { CHUNK_MS: '50' },
}

/** Runs an example in an empty directory, which is also where its temporary files go. */
async function example(name: keyof typeof small) {
  const directory = await mkdtemp(join(tmpdir(), 'run-example-'))
  // The embedded PostgreSQL may run as another user.
  await chmod(directory, 0o755)
  const env: NodeJS.ProcessEnv = { ...process.env, ...small[name], TMPDIR: directory, NODE_OPTIONS: '' }
  delete env.DATABASE_URL
  const child = spawn(process.execPath, [join(repository, 'examples/run.mjs'), name], { cwd: directory, env })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text) => (output += text))
  const ended = new Promise<{ code: number | null; output: string }>((done) =>
    child.once('close', (code) => done({ code, output })),
  )
  onTestFinished(async () => {
    child.kill('SIGKILL')
    for (const pid of await processesNaming(directory)) process.kill(pid, 'SIGKILL')
    await rm(directory, { recursive: true, force: true })
  })
  const left = async () => ({ processes: await processesNaming(directory), files: await readdir(directory) })
  return { child, ended, left, said: () => output }
}

const nothing = { processes: [], files: [] }

for (const name of Object.keys(small) as (keyof typeof small)[]) {
  test(`the example ${name} runs on a PostgreSQL that it brings, and leaves no process and no file`, {
    timeout: 240_000,
  }, async () => {
    const { ended, left } = await example(name)
    const { code, output } = await ended
    expect(code, output).toBe(0)
    expect(output).toMatch(/^Dashboard: http/)
    expect(await left()).toEqual(nothing)
  })
}

for (const [when, words] of [
  ['before its database is there', ''],
  ['in the middle', 'Ingesting'],
] as const) {
  test(`an example that is interrupted ${when} leaves no process and no file`, { timeout: 120_000 }, async () => {
    const { child, ended, left, said } = await example('event-extraction')
    await eventually(async () => (words === '' ? (await left()).files.length > 0 : said().includes(words)))
    child.kill('SIGINT')
    const { code, output } = await ended
    expect(code, output).toBe(0)
    expect(await left()).toEqual(nothing)
  })
}
