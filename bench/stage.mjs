// A place for one system to be measured in: a database or a Redis of its own, processes of its own, a limit in time.
import { startProgram } from './processes.mjs'
import { startRedis } from './redis.mjs'
import { makeDatabase, readCounters } from './server.mjs'

/** Opens a stage that its caller closes. Whatever was started on it is gone afterwards, in good order or not. */
export async function openStage(bench, system, { program: file } = {}) {
  const programs = new Set()
  let isClosed = false
  const isRedis = system === 'bullmq-redis'
  const redis = isRedis ? await startRedis() : undefined
  if (isRedis && !redis) throw new Error('there is no redis-server on this machine')
  const database = isRedis ? undefined : await makeDatabase(bench.server)
  const { url, client } = redis ?? database
  await client?.query(`set statement_timeout = ${bench.limitMs}`)
  const stage = {
    url,
    client,
    serverCpuMs: bench.server.cpuMs,
    async start(options) {
      const program = await startProgram(system, url, { program: file, ...options })
      programs.add(program)
      // What ran out of time goes on for a while, and must not start what nobody ends.
      if (isClosed) {
        await program.kill()
        throw new Error(`the stage of ${system} is closed`)
      }
      return {
        ...program,
        async close() {
          programs.delete(program)
          await program.close()
        },
      }
    },
    counters: () => (client ? readCounters(client) : undefined),
    async close() {
      isClosed = true
      await Promise.all([...programs].map((program) => program.kill()))
      await redis?.stop()
      await database?.drop()
    },
  }
  try {
    const program = await stage.start()
    await within(bench.limitMs, program.call('prepare'))
    await program.close()
    return stage
  } catch (error) {
    await stage.close()
    throw error
  }
}

/** Runs `work` on a stage of its own. */
export async function onStage(bench, system, work, options) {
  const stage = await openStage(bench, system, options)
  try {
    return await within(bench.limitMs, work(stage))
  } finally {
    await stage.close()
  }
}

export async function within(ms, work) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${ms / 1000} s`)), ms)
  })
  // The loser must not be an unhandled rejection: its processes are killed next.
  work.catch(() => {})
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
