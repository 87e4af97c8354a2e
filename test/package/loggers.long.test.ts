import { execFile } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { makeScratchDatabase } from 'holdfast/testing'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { blocks, docsPage } from '../support/docs-page.js'
import { npm, repository } from '../support/packed.js'

let project: string
beforeAll(async () => {
  project = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-loggers-')))
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }')
  await npm(project, 'install', '--no-audit', '--no-fund', '--ignore-scripts', 'winston@3.19.0')
  symlinkSync(repository, join(project, 'node_modules', 'holdfast'), 'junction')
  symlinkSync(join(repository, 'node_modules', 'pino'), join(project, 'node_modules', 'pino'), 'junction')
}, 300_000)
afterAll(() => rmSync(project, { recursive: true, force: true }))

/** Runs the program in that project, where pino and winston are those of npm, and answers with its lines. */
async function run(program: string): Promise<string[]> {
  const scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  onTestFinished(() => scratch.drop())
  writeFileSync(join(project, 'program.mjs'), program)
  const env = { PATH: process.env.PATH, DATABASE_URL: scratch.connectionString, NO_COLOR: '1' }
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['program.mjs'], { cwd: project, env })
  expect(stderr).not.toContain('[winston]')
  return stdout.trim().split('\n')
}

const types = `
  import { defineType, FatalError, Holdfast } from 'holdfast'
  const holdfast = new Holdfast({ connectionString: process.env.DATABASE_URL })
  const types = [
    defineType({ type: 'mail', run() {} }),
    defineType({ type: 'lost', run() { throw new FatalError('no such address') } }),
  ]`

test('pino, winston and console, as npm and Node have them, take the lines of the workers of docs/hooks.md', async () => {
  const example = blocks(docsPage('hooks.md'), 'js').find((block) => block.includes('winston')) as string
  const lines = await run(`${types}\n${example}\nprocess.exit()`)
  const started = lines.filter((line) => line.includes('worker started'))
  expect(started).toHaveLength(3)
  expect(JSON.parse(started[0] as string)).toMatchObject({
    level: 30,
    types: expect.arrayContaining(['mail', 'lost']),
    msg: 'worker started',
  })
  expect(JSON.parse(started[1] as string)).toMatchObject({
    level: 'info',
    types: expect.arrayContaining(['mail', 'lost']),
    message: 'worker started',
  })
  expect(started[2]).toMatch(/^worker started \{/)
}, 60_000)

const loggers = {
  pino: `import { pino } from 'pino'
    const loggerOf = (level) => pino({ level })`,
  winston: `import winston from 'winston'
    const loggerOf = (level) => messageFirst(winston.createLogger({ level, transports: [new winston.transports.Console()] }))`,
}

test.each(Object.keys(loggers) as (keyof typeof loggers)[])(
  '%s is told of a death at the level of warnings, and what completed where it wants that',
  async (name) => {
    const lines = await run(`${types}
      import { messageFirst, startWorker } from 'holdfast/worker'
      ${loggers[name]}
      for (const level of ['info', 'debug']) {
        const worker = await startWorker(holdfast, types, { logger: loggerOf(level) })
        await holdfast.wait(await holdfast.enqueue('mail', {}))
        await holdfast.wait(await holdfast.enqueue('lost', {})).catch(() => {})
        await worker.stop()
      }
      await holdfast.close()`)
    const told = lines.map((line) => JSON.parse(line)).map(({ level, msg, message = msg, type }) => [level, message, type])
    const [warning, detail] = name === 'pino' ? [40, 20] : ['warn', 'debug']
    expect(told.filter(([, message]) => /^job\./.test(message))).toEqual([
      [warning, 'job.dead', 'lost'],
      [detail, 'job.completed', 'mail'],
      [warning, 'job.dead', 'lost'],
    ])
  },
  60_000,
)
