import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { unbuiltCheckout } from '../support/packed.js'

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

test.each(['SIGINT', 'SIGTERM'] as const)(
  'npm test that is ended by %s says so, and what had passed and failed by then',
  async (signal) => {
    const checkout = await unbuiltCheckout()
    writeFileSync(join(checkout.directory, 'vitest.config.ts'), config)
    mkdirSync(join(checkout.directory, 'made-up'))
    writeFileSync(join(checkout.directory, 'made-up', 'ended.test.mjs'), ended)
    writeFileSync(join(checkout.directory, 'made-up', 'endless.test.mjs'), endless)
    const { NODE_OPTIONS: _, VITEST: __, ...env } = process.env
    const child = spawn(process.execPath, ['tools/test.mjs'], { cwd: checkout.directory, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
    const closed = once(child, 'close')
    await vi.waitFor(() => expect(output).toMatch(/ended\.test\.mjs[\s\S]*it waits|it waits[\s\S]*ended\.test\.mjs/), {
      timeout: 120_000,
    })
    child.kill(signal)
    const [code] = await closed
    await checkout.remove()
    expect(output).toContain(`Failed: made-up/ended.test.mjs > subtracts`)
    expect(output.trim().split('\n').at(-1)).toBe(`Interrupted by ${signal}; by then 1 passed, 1 failed in 1 file`)
    expect(code).toBe(signal === 'SIGINT' ? 130 : 143)
  },
  180_000,
)
