import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { needs, whenInstalled } from './support/programs.js'
import { repository } from './support/source.js'

const run = promisify(execFile)
const folder = join(repository, 'model')

test('every defect of the model is in its list and on its page, and every one of the list in the model', async () => {
  const { variants } = await import(join(folder, 'variants.mjs'))
  const model = ['tables.pml', 'steps.pml', 'queue.pml'].map((file) => readFileSync(join(folder, file), 'utf8')).join('\n')
  const names = [...model.matchAll(/^#(?:ifn?def|elif defined)[ (](\w+)/gm)].map((match) => match[1] as string)
  const settings = ['WORKERS', 'JOBS', 'LATE', 'BATCH', 'LIMIT', 'FAULTS', 'ACTS']
  const defects = [...new Set(names)].filter((name) => !settings.includes(name)).sort()
  expect(variants.map(({ name }: { name: string }) => name).sort()).toEqual(defects)
  const page = readFileSync(join(folder, 'README.md'), 'utf8')
  const rows = variants.map((variant: { name: string; caughtBy: string }) => `| \`${variant.name}\` | ${variant.caughtBy} |`)
  expect(rows.filter((row: string) => !page.includes(row))).toEqual([])
})

const explored = 'the model keeps every invariant in every state, and each defect is caught by the one it names'
// A busy machine takes many times the minute of the processor that this needs.
if (needs('cc', explored))
  whenInstalled(
    'spin',
    explored,
    async () => {
      const { stdout } = await run(process.execPath, [join(folder, 'run.mjs')], { maxBuffer: 64 << 20 })
      expect(stdout).toContain('The model holds; all')
    },
    1_800_000,
  )
