// node bench/profile.mjs [jobs] [system]: where a draining worker spends its time, in its own process and in the database.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { drain, fill } from './draining.mjs'
import { installPeers } from './install.mjs'
import { dismissGuard } from './processes.mjs'
import { startServer } from './server.mjs'
import { onStage } from './stage.mjs'

const [, , jobsText = '200000', system = 'holdfast'] = process.argv
const jobs = Number(jobsText)
installPeers()
const directory = mkdtempSync(join(tmpdir(), 'holdfast-profile-'))
const server = await startServer()
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
try {
  await onStage({ server, limitMs: 300_000 }, system, async (stage) => {
    await stage.client?.query(`alter database ${stage.client.database} set track_functions = 'all'`)
    await fill(stage, jobs)
    const { rate, workerCpu, serverCpu } = await drain(stage, {
      jobs,
      execArgv: ['--cpu-prof', `--cpu-prof-dir=${directory}`],
    })
    console.log(
      `${Math.round(rate)} jobs/s; CPU per job: ${workerCpu.toFixed(1)} µs in the worker, ${serverCpu.toFixed(1)} µs in the server\n`,
    )
    printSelfTimes()
    if (stage.client) await printFunctions(stage.client)
  })
} finally {
  await server.stop()
  await dismissGuard()
}

async function printFunctions(client) {
  const { rows } = await client.query(
    'select funcname, calls, total_time, self_time from pg_stat_user_functions order by total_time desc limit 10',
  )
  console.log('\nfunction in the database        calls   total ms    self ms   µs per job')
  for (const { funcname, calls, total_time: total, self_time: self } of rows) {
    const figures = [calls, total.toFixed(0), self.toFixed(0), ((total * 1000) / jobs).toFixed(2)]
    console.log(funcname.padEnd(28) + figures.map((text) => String(text).padStart(11)).join(''))
  }
}

/** The main thread's own time by function, without what it called, from the first job on. */
function printSelfTimes() {
  const profiles = readdirSync(directory).map((file) => JSON.parse(readFileSync(join(directory, file), 'utf8')))
  // There are some of processes that only filled the queue or kept a heartbeat, which do next to nothing here.
  const busiest = profiles.sort((a, b) => busySamples(b) - busySamples(a))[0]
  const times = new Map()
  const at = new Map(busiest.nodes.map((node) => [node.id, node.callFrame]))
  let all = 0
  busiest.samples.forEach((id, i) => {
    const { functionName, url, lineNumber } = at.get(id)
    const place = `${functionName || '(anonymous)'} ${url.split('/').slice(-2).join('/')}:${lineNumber + 1}`
    times.set(place, (times.get(place) ?? 0) + busiest.timeDeltas[i] / 1000)
    all += busiest.timeDeltas[i] / 1000
  })
  console.log('ms of main thread   share   µs per job   function')
  for (const [place, spent] of [...times].sort((a, b) => b[1] - a[1]).slice(0, 40)) {
    const share = `${((spent / all) * 100).toFixed(1)} %`.padStart(8)
    console.log(`${spent.toFixed(0).padStart(17)}${share}${((spent * 1000) / jobs).toFixed(2).padStart(13)}   ${place}`)
  }
}

function busySamples({ nodes, samples }) {
  const idle = new Set(nodes.filter((node) => node.callFrame.functionName === '(idle)').map((node) => node.id))
  return samples.filter((id) => !idle.has(id)).length
}
