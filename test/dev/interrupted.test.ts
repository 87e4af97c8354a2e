import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { repository } from '../support/packed.js'

const config = "export default { test: { include: ['made-up/*.test.mjs'], pool: 'forks' } }"
const ended = `
  import { expect, test } from 'vitest'
  test('adds', () => expect(1 + 1).toBe(2))
  test('subtracts', () => expect(1 - 1).toBe(1))
`
const endless = `
  import { test } from 'vitest'
  test('waits', async () => { console.log('it waits'); await new Promise(() => {}) }, 300_000)
`

/** A clone that needs no package, whose build does nothing and whose tests are two made-up files. */
function clone(): string {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-interrupted-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  for (const name of ['package.json', 'tools']) cpSync(join(repository, name), join(directory, name), { recursive: true })
  writeFileSync(join(directory, 'package-lock.json'), '{ "packages": {} }')
  symlinkSync(join(repository, 'node_modules'), join(directory, 'node_modules'))
  for (const folder of ['src', 'test', 'chaos', 'made-up']) mkdirSync(join(directory, folder))
  writeFileSync(join(directory, 'tools', 'build.mjs'), '')
  writeFileSync(join(directory, 'vitest.config.ts'), config)
  writeFileSync(join(directory, 'made-up', 'ended.test.mjs'), ended)
  writeFileSync(join(directory, 'made-up', 'endless.test.mjs'), endless)
  return directory
}

test.each(['SIGINT', 'SIGTERM'] as const)(
  'npm test that is ended by %s says so, and what had passed and failed by then',
  async (signal) => {
    const { NODE_OPTIONS: _, VITEST: __, ...env } = process.env
    const child = spawn(process.execPath, ['tools/test.mjs'], { cwd: clone(), env, stdio: ['ignore', 'pipe', 'pipe'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
    const closed = once(child, 'close')
    const both = /ended\.test\.mjs[\s\S]*it waits|it waits[\s\S]*ended\.test\.mjs/
    await vi.waitUntil(() => both.test(output) || child.exitCode !== null, { timeout: 120_000 })
    expect(output).toMatch(both)
    child.kill(signal)
    const [code] = await closed
    expect(output).toContain(`Failed: made-up/ended.test.mjs > subtracts`)
    expect(output.trim().split('\n').at(-1)).toBe(`Interrupted by ${signal}; by then 1 passed, 1 failed in 1 file`)
    expect(code).toBe(signal === 'SIGINT' ? 130 : 143)
  },
  180_000,
)
