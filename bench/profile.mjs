// node bench/profile.mjs: where a draining worker spends its time, in its own process and in the database's functions.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Holdfast } from '../dist/index.js'
import { enqueueMany, registerBench } from './enqueueing.mjs'
import { startWorkerProcess } from './processes.mjs'
import { startServer, withDatabase } from './server.mjs'

const jobs = Number(process.argv[2] ?? 200_000)
const directory = mkdtempSync(join(tmpdir(), 'holdfast-profile-'))
const server = await startServer()
try {
  await withDatabase(server, async (url, client) => {
    await registerBench(client)
    await client.query(`alter database ${client.database} set track_functions = 'all'`)
    const holdfast = new Holdfast({ connectionString: url })
    await enqueueMany(holdfast, jobs)
    await holdfast.close()
    const worker = await startWorkerProcess({ url, jobs }, ['--cpu-prof', `--cpu-prof-dir=${directory}`])
    const { ms, cpuMs } = await worker.hear('drained')
    await worker.stop()
    console.log(
      `${Math.round((jobs / ms) * 1000)} jobs/s; the worker process used ${Math.round((cpuMs / ms) * 100)} % of a core\n`,
    )
    printSelfTimes(ms)
    const { rows } = await client.query(
      'select funcname, calls, total_time, self_time from pg_stat_user_functions order by total_time desc limit 10',
    )
    console.log('\nfunction in the database        calls   total ms    self ms   µs per job')
    for (const { funcname, calls, total_time: total, self_time: self } of rows) {
      const figures = [calls, total.toFixed(0), self.toFixed(0), ((total * 1000) / jobs).toFixed(2)]
      console.log(funcname.padEnd(28) + figures.map((text) => String(text).padStart(11)).join(''))
    }
  })
} finally {
  await server.stop()
  rmSync(directory, { recursive: true, force: true })
}

/** The main thread's own time by function, without what it called. */
function printSelfTimes(ms) {
  const profiles = readdirSync(directory).map((file) => JSON.parse(readFileSync(join(directory, file), 'utf8')))
  // There is one for the heartbeat thread too, which does next to nothing.
  const busiest = profiles.sort((a, b) => busySamples(b) - busySamples(a))[0]
  const times = new Map()
  const at = new Map(busiest.nodes.map((node) => [node.id, node.callFrame]))
  busiest.samples.forEach((id, i) => {
    const { functionName, url, lineNumber } = at.get(id)
    const place = `${functionName || '(anonymous)'} ${url.split('/').slice(-2).join('/')}:${lineNumber + 1}`
    times.set(place, (times.get(place) ?? 0) + busiest.timeDeltas[i] / 1000)
  })
  console.log('ms of main thread   share of the drain   function')
  for (const [place, spent] of [...times].sort((a, b) => b[1] - a[1]).slice(0, 45)) {
    console.log(`${spent.toFixed(0).padStart(17)}   ${((spent / ms) * 100).toFixed(1).padStart(16)} %   ${place}`)
  }
}

function busySamples({ nodes, samples }) {
  const idle = new Set(nodes.filter((node) => node.callFrame.functionName === '(idle)').map((node) => node.id))
  return samples.filter((id) => !idle.has(id)).length
}
