/** Who copies an example of docs/how-to into a strict TypeScript project gets no error from the compiler. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { blocks, docsPage } from '../support/docs-page.js'
import { repository } from '../support/source.js'

/** What the pages leave to the reader. */
const yours: Record<string, string> = {
  'tenant-limits': '',
  'rate-limited-apis': 'declare function callPartner(path: string, options: object): Promise<any>',
  'long-jobs': 'declare function projectOne(document: string, signal: AbortSignal): Promise<void>',
  imports: `declare function readRows(): unknown[]
declare function inPortions(rows: unknown[], size: number): AsyncIterable<any[]>
declare function store(row: unknown): Promise<void>`,
  'transactional-enqueue': `import type { Pool } from 'pg'
const sendEmail = defineType({ type: 'send_email', run() {} })`,
}
const before = `import { defineDependency, defineType, Holdfast } from 'holdfast'
const holdfast = new Holdfast()`
const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2023', '--types', 'node', '--skipLibCheck']

test('the examples of the how-to pages compile under strict', { timeout: 120_000 }, async () => {
  const directory = mkdtempSync(join(tmpdir(), 'holdfast-how-to-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }')
  mkdirSync(join(directory, 'node_modules'))
  symlinkSync(repository, join(directory, 'node_modules', 'holdfast'))
  for (const name of ['@types', 'pg', 'undici-types'])
    symlinkSync(join(repository, 'node_modules', name), join(directory, 'node_modules', name))
  const files = Object.entries(yours).map(([page, theirs]) => {
    const code = blocks(docsPage(`how-to/${page}.md`), 'js').join('\n')
    // A parameter has no type in JavaScript.
    const typed = code.replace('(pool, customer)', '(pool: Pool, customer: string)')
    writeFileSync(
      join(directory, `${page}.ts`),
      `${before}\n${theirs}\n${typed}\nexport const uses = [holdfast, defineType, defineDependency]\n`,
    )
    return `${page}.ts`
  })
  const compiler = join(repository, 'node_modules', 'typescript', 'bin', 'tsc')
  const said = promisify(execFile)(process.execPath, [compiler, ...options, ...files], { cwd: directory }).then(
    () => '',
    ({ stdout }: { stdout: string }) => stdout,
  )
  expect(await said).toBe('')
})
