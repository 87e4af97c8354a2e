import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { defineType, FatalError } from 'holdfast'
import { insideOf } from 'holdfast/inside'
import { startWorker } from 'holdfast/worker'
import { expect, onTestFinished } from 'vitest'
import { blocks, docsPage } from '../support/docs-page.js'
import { eventually } from '../support/facts.js'
import { whenInstalled } from '../support/programs.js'
import { cases } from '../support/prometheus-cases.js'
import { adminKey, quiet, serve } from '../support/serving.js'
import { repository } from '../support/source.js'

const run = promisify(execFile)
const file = join(repository, 'docs', 'prometheus-rules.yml')
const rules = readFileSync(file, 'utf8')
const names = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name as string)

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'holdfast-prometheus-'))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

whenInstalled(
  'promtool',
  'every alert of docs/prometheus-rules.yml fires when it should, and not before',
  async (promtool) => {
    expect(names.filter((name) => !cases[name])).toEqual([])
    const tests = Object.entries(cases).map(([alertname, { series, at, quietAt, labels, summary, silent }]) => {
      const [, url] = new RegExp(`- alert: ${alertname}\\n[\\s\\S]*?runbook_url: "([^"]*)"`).exec(rules) ?? []
      const expected = { exp_labels: labels, exp_annotations: { summary, runbook_url: url } }
      return {
        interval: '1m',
        input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
        alert_rule_test: [
          ...(quietAt === undefined ? [] : [{ eval_time: `${quietAt}m`, alertname, exp_alerts: [] }]),
          { eval_time: `${at}m`, alertname, exp_alerts: [expected] },
          ...(silent === undefined ? [] : [{ eval_time: `${at}m`, alertname: silent, exp_alerts: [] }]),
        ],
      }
    })
    const path = join(folder(), 'tests.yml')
    // JSON is YAML.
    writeFileSync(path, JSON.stringify({ rule_files: [file], evaluation_interval: '1m', tests }))
    const { stdout } = await run(promtool, ['test', 'rules', path], { timeout: 120_000 }).catch((error) => {
      throw new Error(`${error.stdout}${error.stderr}`)
    })
    expect(stdout).toContain('SUCCESS')
  },
  150_000,
)

whenInstalled('promtool', 'the scrape configurations of the pages are ones that Prometheus takes', async (promtool) => {
  const configurations = ['metrics.md', 'how-to/monitoring.md'].flatMap((name) => blocks(docsPage(name), 'yaml'))
  expect(configurations).toHaveLength(2)
  for (const configuration of configurations) {
    const path = join(folder(), 'prometheus.yml')
    writeFileSync(path, configuration)
    const { stdout } = await run(promtool, ['check', 'config', '--syntax-only', path])
    expect(stdout).toContain('SUCCESS')
  }
})

whenInstalled(
  'prometheus',
  'a Prometheus that scrapes a server evaluates every rule and has data for every query of the Grafana dashboard',
  async (prometheus) => {
    const serving = await serve()
    onTestFinished(() => serving.end())
    const fine = defineType({ type: 'fine', lane: 'interactive', run() {} })
    const deadly = defineType({ type: 'deadly', limits: { breaker: false }, run: () => Promise.reject(new FatalError('no')) })
    const worker = await startWorker(serving.holdfast, [fine, deadly], { logger: quiet })
    onTestFinished(() => worker.stop({ now: true }))

    const directory = folder()
    const port = await freePort()
    writeFileSync(
      join(directory, 'prometheus.yml'),
      JSON.stringify({
        global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
        rule_files: [file],
        scrape_configs: [
          {
            job_name: 'holdfast',
            authorization: { credentials: adminKey },
            static_configs: [{ targets: [new URL(serving.address).host] }],
          },
        ],
      }),
    )
    const flags = [`--config.file=${directory}/prometheus.yml`, `--storage.tsdb.path=${directory}/data`]
    const child = spawn(prometheus, [...flags, `--web.listen-address=127.0.0.1:${port}`], { stdio: 'ignore' })
    const exited = once(child, 'exit')
    onTestFinished(async () => {
      child.kill('SIGKILL')
      await exited
    })
    // biome-ignore lint/suspicious/noExplicitAny: the answers of another program
    const ask = async (path: string): Promise<any> => (await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)).json()

    const { metrics, partitions } = insideOf(serving.holdfast).store
    await partitions.ran(await partitions.keep())
    const queries = dashboardQueries()
    expect(queries.length).toBeGreaterThan(25)
    let without: string[] = queries
    await eventually(
      async () => {
        // Something goes on all the time, well and badly, and everything that was counted is written down at once.
        await serving.holdfast.enqueueMany([fine.job({}), fine.job({}), deadly.job({})])
        await serving.call('POST', '/jobs', { type: 'fine', payload: {} })
        await serving.call('POST', '/jobs', { type: 'fine' })
        await serving.ask(`/jobs/${(await serving.holdfast.enqueue(fine, {})).id}`)
        await metrics.keepTotals()
        const answers = await Promise.all(without.map((query) => ask(`query?query=${encodeURIComponent(query)}`)))
        expect(answers.filter(({ status }) => status !== 'success')).toEqual([])
        without = without.filter((_, at) => !hasNumber(answers[at]))
        expect(without).toEqual([])
        return true
      },
      { within: 120_000, every: 1_000 },
    )
    const { data } = await ask('rules')
    const all = data.groups.flatMap((group: { rules: { name: string; health: string; lastError?: string }[] }) => group.rules)
    expect(all.length).toBeGreaterThan(names.length)
    expect(all.filter(({ health }: { health: string }) => health !== 'ok')).toEqual([])
    const firing = await eventually(async () => {
      const { alerts } = (await ask('alerts')).data
      return alerts.find(({ labels }: { labels: Record<string, string> }) => labels.alertname === 'HoldfastDeadLetters')
    })
    expect(firing).toMatchObject({ labels: { type: 'deadly' }, annotations: { summary: expect.stringContaining('deadly') } })
  },
  180_000,
)

/** Every query of the dashboard, as Grafana would send it with all types. */
function dashboardQueries(): string[] {
  const dashboard = JSON.parse(readFileSync(join(repository, 'docs', 'grafana-dashboard.json'), 'utf8'))
  const targets = dashboard.panels.flatMap((panel: { targets: { expr: string }[] }) => panel.targets)
  return targets.map(({ expr }: { expr: string }) => expr.replaceAll('$__rate_interval', '1m').replaceAll('$type', '.*'))
}

// biome-ignore lint/suspicious/noExplicitAny: the answers of another program
function hasNumber({ data }: any): boolean {
  return data.result.some(({ value }: { value: [number, string] }) => !Number.isNaN(Number(value[1])))
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
