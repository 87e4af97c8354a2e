import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { defineType } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { whenInstalled } from '../support/programs.js'
import { type Serving, serve } from '../support/serving.js'
import { repository } from '../support/source.js'

const run = promisify(execFile)
const page = readFileSync(join(repository, 'docs', 'metrics.md'), 'utf8')
const rules = join(repository, 'docs', 'prometheus-rules.yml')
let serving: Serving

beforeAll(async () => {
  serving = await serve()
  await serving.holdfast.registerTypes([defineType({ type: 'send_email' })])
  await serving.holdfast.flow.limitDependency('stripe', { maxRunning: 1 }, { by: 'ada' }, { create: true })
  // What never happened has no number.
  const refusals = [{ status: 429, count: 1 }]
  const duties = [{ duty: 'promote', runs: 1, failures: 0, seconds: 0.1 }]
  await insideOf(serving.holdfast).store.metrics.note({
    ...{ id: randomUUID(), durations: [], waits: [], late: [], fleet: [] },
    ...{ refusals, duties },
  })
  const { store } = insideOf(serving.holdfast)
  await store.registerWorker({ name: 'w', host: 'h', pid: 1, version: '0', types: [], build: '2.4.1' })
  await store.operate.verification.note('send_email', true)
  const { partitions } = store
  await partitions.ran(await partitions.keep())
})
afterAll(() => serving.end())

/** Name, kind, labels and help of everything that is measured. */
async function measured(): Promise<string[][]> {
  const text = await (await serving.ask('/metrics')).text()
  return [...text.matchAll(/^# HELP (\S+) (.*)\n# TYPE \S+ (\w+)\n\w+(?:\{(.*)\})? /gm)].map(
    ([, name = '', help = '', kind = '', labels = '']) => {
      const names = [...labels.matchAll(/(\w+)="/g)].map(([, label = '']) => label).filter((label) => label !== 'le')
      return [name, kind, names.join(', '), help]
    },
  )
}

test('docs/metrics.md names every metric with its kind, its labels and what it says', async () => {
  const shown = [...page.matchAll(/^\| `(holdfast_\w+)` +\| (\w+) +\| ([`\w, ]*?) *\| (.*?) +\|$/gm)].map(
    ([, name = '', kind = '', labels = '', help = '']) => [name, kind, labels.replaceAll('`', ''), help],
  )
  expect(shown).toEqual(await measured())
})

test('every metric in docs/prometheus-rules.yml is one that there is', async () => {
  const known = (await measured()).map(([name]) => name)
  const named = readFileSync(rules, 'utf8')
    .match(/holdfast_\w+/g)
    ?.map((name) => name.replace(/_(?:bucket|sum|count)$/, ''))
  const used = new Set(named)
  expect(used.size).toBeGreaterThan(5)
  expect([...used].filter((name) => !known.includes(name))).toEqual([])
})

whenInstalled(
  'promtool',
  'promtool accepts docs/prometheus-rules.yml and the configuration in docs/metrics.md',
  async (promtool) => {
    expect((await run(promtool, ['check', 'rules', rules], { timeout: 30_000 })).stdout).toContain('SUCCESS')
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-promtool-'))
    try {
      const [, config = ''] = /```yaml\n([\s\S]*?)```/.exec(page) ?? []
      writeFileSync(join(folder, 'prometheus.yml'), config)
      const { stdout } = await run(promtool, ['check', 'config', '--syntax-only', join(folder, 'prometheus.yml')], {
        timeout: 30_000,
      })
      expect(stdout).toContain('SUCCESS')
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
)
