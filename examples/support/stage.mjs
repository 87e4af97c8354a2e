// What every example needs: a database of its own, processes of its own, the dashboard, and an end that leaves nothing behind.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Holdfast } from 'holdfast'
import { startPostgres } from 'holdfast/dev'
import { createServer } from 'holdfast/server'
import { makeScratchDatabase } from 'holdfast/testing'

/**
 * A database on the server of `databaseUrl`, or on an embedded one that is started and stopped with the example. `say` prints a line for
 * the person who watches; with `dashboard`, the dashboard of this database is served as long as the example runs.
 */
export async function setStage({ databaseUrl = process.env.DATABASE_URL, say = console.log, dashboard = false } = {}) {
  const ends = []
  let ended = false
  // What is begun while it ends, by a story that does not know yet, is undone as well.
  const end = async () => {
    ended = true
    for (let undo = ends.pop(); undo; undo = ends.pop()) await undo()
  }
  try {
    const database = await makeScratchDatabase(databaseUrl ?? (await embedded((undo) => ends.push(undo))))
    ends.push(() => database.drop())
    const holdfast = new Holdfast({ connectionString: database.connectionString })
    ends.push(() => holdfast.close())
    await holdfast.migrate()
    if (dashboard) ends.push(await serveDashboard(holdfast, say))

    /** Starts a program of the example in a process of its own; resolves when it has printed its first line. */
    const start = async (program, env = {}) => {
      if (ended) throw new Error('the example has ended')
      const child = spawn(process.execPath, [fileURLToPath(program)], {
        env: { ...process.env, DATABASE_URL: database.connectionString, HOLDFAST_LOG_LEVEL: 'error', ...env },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const exited = once(child, 'exit')
      const stop = async (signal = 'SIGTERM') => {
        if (child.exitCode === null && child.signalCode === null) child.kill(signal)
        await exited
      }
      ends.push(stop)
      const lines = createInterface({ input: child.stdout })
      const failed = exited.then(([code]) => Promise.reject(new Error(`${program} ended with ${code} before it was ready`)))
      const [ready] = await Promise.race([once(lines, 'line'), failed])
      failed.catch(() => {})
      lines.on('line', say)
      return { ready, pid: child.pid, stop }
    }
    return { connectionString: database.connectionString, holdfast, say, start, onEnd: (undo) => ends.push(undo), end }
  } catch (error) {
    await end()
    throw error
  }
}

/** A PostgreSQL in a directory of its own, which goes with it. Answers with its address. */
async function embedded(onEnd) {
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-example-'))
  onEnd(() => rm(dataDir, { recursive: true, force: true }))
  const postgres = await startPostgres({ dataDir })
  onEnd(() => postgres.stop())
  return postgres.connectionString
}

/** The dashboard of the example, and what ends it. */
async function serveDashboard(holdfast, say) {
  const adminKey = `hf_${randomBytes(18).toString('base64url')}`
  const server = createServer(holdfast, { adminKey })
  const address = await server.listen({ host: '127.0.0.1', port: 0 })
  say(`Dashboard: ${address} (the key is ${adminKey})\n`)
  return () => server.close()
}

/** Waits until `ask` answers with something true, and returns that. */
export async function until(ask, { within = 60_000, every = 50 } = {}) {
  for (const end = performance.now() + within; performance.now() < end; ) {
    const answer = await ask()
    if (answer) return answer
    await new Promise((resolve) => setTimeout(resolve, every))
  }
  throw new Error(`nothing after ${within / 1000} s of: ${ask}`)
}
