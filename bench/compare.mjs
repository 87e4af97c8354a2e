// node bench/compare.mjs <commit> [--jobs=60000] [--rounds=5]: drains by the code of that commit and by the working tree's, in
// turns, on one server. Rates wobble on a machine that others use; WAL and commits do not, CPU time a little.
import { spawnSync } from 'node:child_process'
import { loadavg } from 'node:os'
import { fileURLToPath } from 'node:url'
import { shown } from './figures.mjs'
import { installPeers } from './install.mjs'

const words = process.argv.slice(2)
const flags = Object.fromEntries(words.filter((word) => word.startsWith('--')).map((word) => word.slice(2).split('=')))
const [commit] = words.filter((word) => !word.startsWith('--'))
const { jobs = 60_000, rounds = 5 } = Object.fromEntries(Object.entries(flags).map(([name, value]) => [name, Number(value)]))
if (!commit || !(jobs > 0) || !(rounds > 0)) {
  console.error('node bench/compare.mjs <commit> [--jobs=60000] [--rounds=5]')
  process.exit(1)
}
installPeers()
const built = spawnSync(process.execPath, [fileURLToPath(new URL('../tools/build.mjs', import.meta.url))], { stdio: 'inherit' })
if (built.status !== 0) process.exit(built.status ?? 1)

// Only now: these need what was just installed and built.
const { drain, fill } = await import('./draining.mjs')
const { buildEarlier, nameOf } = await import('./earlier.mjs')
const { describeCode } = await import('./machine.mjs')
const { measure } = await import('./measure.mjs')
const { dismissGuard } = await import('./processes.mjs')
const { startServer } = await import('./server.mjs')
const { onStage } = await import('./stage.mjs')

const names = { earlier: `${nameOf(commit)}`, now: `${describeCode().commit} (working tree)` }
const loadBefore = loadavg()[0]
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))
const earlier = buildEarlier(commit)
try {
  const server = await startServer()
  try {
    const contestants = { earlier: emptying(earlier.program), now: emptying() }
    const group = { name: 'compare', contestants }
    const say = (line) => process.stderr.write(`${line}\n`)
    const { figures, problems } = await measure(group, { server, limitMs: 120_000, verbose: true }, { rounds }, say)
    for (const problem of problems) console.error(`not measured: ${problem}`)
    print(figures)
    process.exitCode = problems.length > 0 ? 1 : 0
  } finally {
    await server.stop()
  }
} finally {
  earlier.remove()
  await dismissGuard()
}

function emptying(program) {
  return (bench) =>
    onStage(
      bench,
      'holdfast',
      async (stage) => {
        await stage.client.query('checkpoint')
        await fill(stage, jobs)
        const { seen, ...measured } = await drain(stage, { jobs })
        return measured
      },
      { program },
    )
}

function print({ earlier, now }) {
  const load = [loadBefore, loadavg()[0]].map((value) => value.toFixed(1)).join(' before, ')
  console.log(`\n${new Date().toISOString()}, ${rounds} rounds of ${jobs.toLocaleString('en')} jobs; load ${load} after`)
  console.log(`earlier: ${names.earlier}, now: ${names.now}\n`)
  const kinds = [
    ['rate', 'jobs/s'],
    ['cpu', 'CPU µs per job'],
    ['workerCpu', '… in the worker'],
    ['serverCpu', '… in the server'],
    ['wal', 'WAL bytes per job'],
    ['commits', 'commits per job'],
  ]
  console.log(
    `${''.padEnd(20)}${['earlier', 'lowest–highest', 'now', 'lowest–highest', 'now / earlier'].map((t) => t.padStart(20)).join('')}`,
  )
  for (const [figure, label] of kinds) {
    const [a, b] = [earlier?.[figure], now?.[figure]]
    if (!a || !b) continue
    const columns = [shown(a.median), spread(a), shown(b.median), spread(b), (b.median / a.median).toFixed(3)]
    console.log(label.padEnd(20) + columns.map((text) => text.padStart(20)).join(''))
  }
}

function spread({ lowest, highest }) {
  return `${shown(lowest)}–${shown(highest)}`
}
