import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { makeScratchDatabase } from 'holdfast/testing'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

it('the examples of the page on isolation run as they stand', { timeout: 60_000 }, async () => {
  const page = readFileSync(join(root, 'docs', 'isolation.md'), 'utf8')
  const scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
  // Beside package.json, so that `holdfast` means this package, as it does for those who installed it.
  const folder = mkdtempSync(join(root, '.readme-'))
  try {
    for (const [, name, text] of page.matchAll(/```js\n\/\/ (\S+)\n([\s\S]*?)```/g)) {
      writeFileSync(join(folder, name as string), text as string)
    }
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'worker.mjs')], {
      env: { ...process.env, DATABASE_URL: scratch.connectionString, HOLDFAST_LOG_LEVEL: 'silent' },
      timeout: 50_000,
    })
    expect(stdout).toContain('resized cat.png')
  } finally {
    rmSync(folder, { recursive: true })
    await scratch.drop()
  }
})
