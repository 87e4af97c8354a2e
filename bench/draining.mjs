// Fills a queue and lets workers empty it: the measurement most rows are made of.
import { setTimeout as pause } from 'node:timers/promises'

/**
 * What autovacuum would do within a minute is done at once. Without statistics a planner guesses: graphile-worker drains at 13,000
 * or at 40,000 jobs/s and pg-boss at half or all of its rate, depending on whether autovacuum came by in time.
 */
export async function fill(stage, jobs, options) {
  const producer = await stage.start()
  await producer.call('openProducer', options)
  const ms = await producer.call('fill', { jobs })
  await producer.close()
  await stage.client?.query('vacuum analyze')
  return ms
}

/** Starts that many worker processes, waits until all jobs are settled, and tells how fast and at what cost. */
export async function drain(stage, { jobs, workers = 1, options = {}, execArgv }) {
  const programs = await Promise.all(Array.from({ length: workers }, () => stage.start({ execArgv })))
  return drainBy(stage, programs, { jobs, begin: () => Promise.all(programs.map((program) => program.call('work', options))) })
}

const warmUp = 3_000

/**
 * The same by processes that have run some jobs before, so that four of them can be compared with one: otherwise each has to compile its
 * own code and the plans of its connections meanwhile, which takes as long as tens of thousands of jobs. `fill` stores that many jobs.
 */
export async function drainWarm(stage, { jobs, workers, options = {}, fill }) {
  const programs = await Promise.all(Array.from({ length: workers }, () => stage.start()))
  await Promise.all(programs.map((program) => program.call('work', options)))
  for (let round = 1; round <= 3; round++) {
    await fill(warmUp * workers)
    await untilSettled(programs, round * warmUp * workers)
  }
  await setLane(stage, false)
  await stage.client.query('checkpoint')
  await fill(jobs)
  await stage.client.query('vacuum analyze')
  await Promise.all(programs.map((program) => program.call('forget')))
  return drainBy(stage, programs, { jobs, begin: () => setLane(stage, true) })
}

/** Lets the workers of Holdfast claim, or keeps them from it. */
export const setLane = (stage, enabled) =>
  stage.client.query(`select holdfast.set_lane('default', $1, holdfast.actor('the bench'), false)`, [JSON.stringify({ enabled })])

/** The same by processes that are there already, once `begin` has let them. */
export async function drainBy(stage, programs, { jobs, begin }) {
  const before = await stage.counters()
  const serverCpuBefore = stage.serverCpuMs()
  const cpuBefore = await total(programs, 'cpuMs')
  await begin()
  await untilSettled(programs, jobs)
  const seen = await Promise.all(programs.map((program) => program.call('seen')))
  const serverCpu = stage.serverCpuMs() - serverCpuBefore
  const cpu = (await total(programs, 'cpuMs')) - cpuBefore
  // A server process tells what it counted at the latest when it ends.
  await Promise.all(programs.map((program) => program.close()))
  const after = await stage.counters()
  const took = seen.filter(({ handled }) => handled > 0)
  const ms = Math.max(...took.map(({ lastAt }) => lastAt)) - Math.min(...took.map(({ firstAt }) => firstAt))
  return {
    rate: (jobs / ms) * 1000,
    workerCpu: (cpu / jobs) * 1000,
    serverCpu: (serverCpu / jobs) * 1000,
    cpu: ((cpu + serverCpu) / jobs) * 1000,
    ...(after ? { wal: (after.wal - before.wal) / jobs, commits: (after.commits - before.commits) / jobs } : {}),
    seen,
  }
}

/** A question wakes every process, so a large fleet is asked seldom. */
export async function untilSettled(programs, jobs) {
  while ((await total(programs, 'settled')) < jobs) await pause(Math.max(20, 5 * programs.length))
}

async function total(programs, figure) {
  const answers = await Promise.all(programs.map((program) => program.call('progress')))
  return answers.reduce((sum, answer) => sum + answer[figure], 0)
}

/** The rate in each quarter of the jobs, by what one worker noted on its way. */
export function quarterRates({ timeline, firstAt, lastAt }, jobs) {
  const notes = [
    { at: firstAt, settled: 0 },
    ...timeline.filter(({ at }) => at > firstAt && at < lastAt),
    { at: lastAt, settled: jobs },
  ]
  const timeAt = (settled) => {
    const next = notes.findIndex((note) => note.settled >= settled)
    if (next <= 0) return notes[0].at
    const [a, b] = [notes[next - 1], notes[next]]
    return a.at + ((settled - a.settled) / (b.settled - a.settled || 1)) * (b.at - a.at)
  }
  return [0, 1, 2, 3].map((q) => ((jobs / 4) * 1000) / (timeAt(((q + 1) * jobs) / 4) - timeAt((q * jobs) / 4)))
}
