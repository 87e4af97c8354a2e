import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { loadAll } from 'js-yaml'
import { expect, test } from 'vitest'
import { processIo } from '../../src/cli/io.js'
import { makeProgram } from '../../src/cli/program.js'
import { toMilliseconds } from '../../src/job/duration.js'
import { repository } from '../support/packed.js'

const folder = join(repository, 'deploy')
const read = (file: string) => readFileSync(join(folder, file), 'utf8')
const kubernetes = readdirSync(join(folder, 'kubernetes')).map((name) => `kubernetes/${name}`)
const units = readdirSync(join(folder, 'systemd')).map((name) => `systemd/${name}`)

interface Running {
  where: string
  args: string[]
  /** How long the platform waits after SIGTERM, in seconds. */
  patience?: number
  probes: string[]
}

interface Service {
  command?: string[]
  stop_grace_period?: string
  healthcheck?: { test: string[] }
}

interface Manifest {
  spec: { template?: { spec: { terminationGracePeriodSeconds?: number; containers: Container[] } } }
}

interface Container {
  args: string[]
  livenessProbe?: Probe
  readinessProbe?: Probe
}

interface Probe {
  httpGet?: { path: string }
}

/** Every place where a file runs `holdfast`. */
function everywhere(): Running[] {
  const image = JSON.parse(/^CMD (.*)$/m.exec(read('Dockerfile'))?.[1] ?? '[]')
  return [
    ...units.map(ofUnit),
    ...ofCompose(),
    ...kubernetes.flatMap(ofManifests),
    { where: 'Dockerfile', args: image, probes: [] },
  ]
}

function ofUnit(file: string): Running {
  const [, args = ''] = /^ExecStart=\S+ node_modules\/holdfast\/dist\/cli\/main\.js (.*)$/m.exec(read(file)) ?? []
  return { where: file, args: args.split(' '), patience: Number(/^TimeoutStopSec=(\d+)$/m.exec(read(file))?.[1]), probes: [] }
}

function ofCompose(): Running[] {
  const [{ services }] = loadAll(read('compose.yaml')) as [{ services: Record<string, Service> }]
  return Object.entries(services).flatMap(([name, { command: args, stop_grace_period: grace = '0', healthcheck }]) => {
    const probes = [...(healthcheck?.test.join(' ') ?? '').matchAll(/:7071(\/\w+)/g)].map(([, path]) => path as string)
    return args ? [{ where: `compose.yaml ${name}`, args, patience: Number.parseInt(grace, 10), probes }] : []
  })
}

function ofManifests(file: string): Running[] {
  const templates = (loadAll(read(file)) as Manifest[]).flatMap(({ spec }) => spec.template ?? [])
  return templates.flatMap(({ spec: { containers, terminationGracePeriodSeconds: patience = 0 } }) =>
    containers.map(({ args, livenessProbe, readinessProbe }) => {
      const probes = [livenessProbe, readinessProbe].flatMap((probe) => probe?.httpGet?.path ?? [])
      return { where: file, args, patience, probes }
    }),
  )
}

test('every command line in deploy/ is one that holdfast understands', () => {
  const { program } = makeProgram(processIo())
  const lines = everywhere()
  expect(lines.map(({ args }) => args[0])).toEqual(expect.arrayContaining(['migrate', 'serve', 'work']))
  expect(lines).toHaveLength(9)
  for (const { where, args } of lines) {
    const [name, ...rest] = args
    const command = program.commands.find((one) => one.name() === name)
    expect(command, `${where}: ${name}`).toBeDefined()
    const known = command?.options.map(({ long }) => long)
    expect(
      rest.filter((word) => word.startsWith('--') && !known?.includes(word)),
      where,
    ).toEqual([])
  }
})

test('every platform waits for longer than a worker drains, and asks a worker only what it answers', () => {
  const workers = everywhere().filter(({ args }) => args[0] === 'work')
  expect(workers).toHaveLength(3)
  for (const { where, args, patience = 0, probes } of workers) {
    const drain = toMilliseconds(args[args.indexOf('--drain') + 1], 'drain') / 1000
    expect(patience, where).toBeGreaterThan(drain + 5)
    expect(
      probes.filter((path) => path !== '/healthz' && path !== '/readyz'),
      where,
    ).toEqual([])
    expect(probes.length > 0, where).toBe(args.includes('--health-port'))
  }
})

test('every file of deploy/ is named by the page, and every file that the page names is there', () => {
  const page = readFileSync(join(repository, 'docs/deploy.md'), 'utf8')
  for (const file of [
    ...units,
    'Dockerfile',
    'compose.yaml',
    ...kubernetes.map((one) => one.replace(/^kubernetes\/(server|worker)/, '$1')),
  ])
    expect(page).toContain(file)
})

test('the chart of the page is what the decision of the server makes of the spikes today', async () => {
  const { chart, simulate, spikes } = await import(
    /* @vite-ignore */ pathToFileURL(join(repository, 'tools/autoscale-chart.mjs')).href
  )
  expect(readFileSync(join(repository, 'docs/autoscale.svg'), 'utf8')).toBe(chart())
  for (const spike of spikes) {
    const { drainedAfter, mostWorkers, seconds } = simulate(spike)
    // The fleet that it may have is enough for each, so nothing waits for much longer than the work takes.
    expect(drainedAfter, spike.name).toBeLessThan(600)
    expect(mostWorkers, spike.name).toBe(300)
    expect(seconds.at(-1).waiting).toBe(0)
  }
  const small = { jobSeconds: 2, most: 10, startSeconds: 60, askEverySeconds: 15 }
  // 500 slots end 250 a second: 1.5 million take 6,000 s, of which the spike itself lasts 300.
  const { drainedAfter } = simulate(spikes[0], small)
  expect(drainedAfter).toBeGreaterThan(5_700)
  expect(drainedAfter).toBeLessThan(5_900)
})
