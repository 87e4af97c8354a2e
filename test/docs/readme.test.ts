import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { defineType, Holdfast } from 'holdfast'
import { makeScratchDatabase, type ScratchDatabase } from 'holdfast/testing'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const readme = readFileSync(join(root, 'README.md'), 'utf8')

function block(language: string): string {
  const found = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(readme)?.[1]
  if (!found) throw new Error(`README.md has no ${language} block`)
  return found
}

let scratch: ScratchDatabase

beforeEach(async () => {
  scratch = await makeScratchDatabase(process.env.HOLDFAST_TEST_URL as string)
})
afterEach(() => scratch.drop())

describe('the README', () => {
  it('has an example of some twenty lines that runs as it stands', async () => {
    const example = block('js')
    expect(example.split('\n').filter((line) => line.trim() !== '' && !line.trim().startsWith('//')).length).toBeLessThanOrEqual(
      24,
    )
    // Beside package.json, so that `holdfast` means this package, as it does for those who installed it.
    const folder = mkdtempSync(join(root, '.readme-'))
    try {
      writeFileSync(join(folder, 'example.mjs'), example)
      const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'example.mjs')], {
        env: { ...process.env, DATABASE_URL: scratch.connectionString },
        timeout: 25_000,
      })
      expect(stdout).toContain('attempt 1: mail to ada@example.com')
      expect(stdout).toMatch(/job [0-9a-f-]{36} was created/)
      expect(stdout).toContain('done: ada@example.com')
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('has SQL that runs as it stands', async () => {
    const holdfast = new Holdfast({ connectionString: scratch.connectionString })
    await holdfast.registerTypes([defineType({ type: 'send_email' })])
    const statements = block('sql')
      .split(';')
      .map((text) => text.trim())
      .filter(Boolean)
    const answers = []
    const client = new pg.Client({ connectionString: scratch.connectionString })
    await client.connect()
    for (const text of statements) answers.push((await client.query(text)).rows)
    await client.end()
    expect(answers).toEqual([[{ id: expect.any(String), status: 'created' }], [{ status: 'scheduled', count: '1' }]])
    await holdfast.close()
  })
})
