import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

it('the example of the page on testing runs as it stands', { timeout: 60_000 }, async () => {
  const page = readFileSync(join(root, 'docs', 'testing.md'), 'utf8')
  // Beside package.json, so that `holdfast` means this package, as it does for those who installed it.
  const folder = mkdtempSync(join(root, '.readme-'))
  try {
    writeFileSync(join(folder, 'example.mjs'), /```js\n([\s\S]*?)```/.exec(page)?.[1] as string)
    const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'example.mjs')], { timeout: 50_000 })
    expect(stdout).toBe('to ada@example.com\n1 0\n')
  } finally {
    rmSync(folder, { recursive: true })
  }
})
