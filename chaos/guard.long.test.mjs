import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'

/** Starts a server as a part of the bench does, says where, and stands still. */
const bench = `
  import { quick, startServer } from ${JSON.stringify(new URL('./server.mjs', import.meta.url).href)}
  const { pid, dataDir } = await startServer({ settings: quick })
  console.log(JSON.stringify({ pid, dataDir }))
  setInterval(() => {}, 1_000)`

function isAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('a bench that is killed leaves neither its server nor its data behind', { timeout: 120_000 }, async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', bench], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(createInterface({ input: child.stdout }), 'line')
  const { pid, dataDir } = JSON.parse(line)
  expect(isAlive(pid)).toBe(true)
  child.kill('SIGKILL')
  await expect.poll(() => isAlive(pid) || existsSync(dataDir), { timeout: 60_000, interval: 100 }).toBe(false)
})
