import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { runProgram } from '../support/processes.js'
import { makeQueue } from '../support/queue.js'

test('the backend of a listener that is frozen is ended by the server, and with it the snapshot it holds', async () => {
  const queue = await makeQueue()
  const program = runProgram('listener-program', { url: queue.url, unreadForMs: 1_000 })
  await program.heard('ready')
  const listeners = `select pid, wait_event as waits from pg_stat_activity
                     where datname = current_database() and application_name = 'holdfast listener'`
  const [listener] = await queue.sql(listeners)
  program.freeze()
  // More than the buffers between the two can hold.
  await queue.sql(`select pg_notify('holdfast.worker_1', repeat('x', 7900) || n) from generate_series(1, 3000) as n`)
  const seen = new Set<string>()
  await eventually(async () => {
    const [now] = await queue.sql(`${listeners} and pid = $1`, [listener?.pid])
    if (now) seen.add(now.waits)
    return now === undefined
  })
  // It was stuck in the middle of its sending.
  expect(seen).toContain('ClientWrite')

  program.thaw()
  await eventually(async () => (await queue.sql(listeners)).length === 1)
}, 60_000)
