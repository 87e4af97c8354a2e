// The nine scenarios that queues are compared by, in the words of the public benchmark. Of the first five the time after the
// disturbance is compared with the time before it; of the other four, the time under pressure with the time without.
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'

async function openClient(field) {
  const client = new pg.Client({ connectionString: field.server.url, application_name: 'chaos pressure' })
  client.on('error', () => {})
  await client.connect()
  return client
}

export const scenarios = {
  postgres_restart: {
    async disturb(field) {
      await field.server.crash()
      await pause(500)
      await field.server.restart()
    },
  },
  backend_kill: {
    async disturb(field) {
      for (let round = 0; round < 5; round++) {
        await field.admin(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where pid <> pg_backend_pid() and backend_type = 'client backend' and application_name <> 'chaos admin'`,
        )
        await pause(300)
      }
    },
  },
  pool_exhaustion: {
    async disturb(field) {
      const taken = []
      for (;;) {
        const client = new pg.Client({ connectionString: field.server.url, application_name: 'chaos hoarder' })
        client.on('error', () => {})
        if (!(await client.connect().then(() => true, () => false))) break // biome-ignore format: one thought
        taken.push(client)
      }
      await pause(2_000)
      await Promise.all(taken.map((client) => client.end()))
    },
  },
  crash_recovery: {
    async disturb(field) {
      await field.fleet.kill(field.fleet.of('steady-worker')[0])
      await field.startSteady()
    },
  },
  repeated_kills: {
    async disturb(field) {
      for (let round = 0; round < 4; round++) {
        await field.fleet.kill(field.fleet.of('steady-worker')[0])
        await field.startSteady()
        await pause(500)
      }
    },
  },
  idle_in_transaction: {
    async press(field) {
      const client = await openClient(field)
      await client.query('begin isolation level repeatable read')
      await client.query('select count(*) from holdfast.jobs')
      return () => client.end()
    },
  },
  sustained_high_load: {
    async press(field) {
      field.load.press(1.5)
      return async () => field.load.press(1)
    },
  },
  active_readers: {
    async press(field) {
      let reading = true
      const readers = Array.from({ length: 4 }, async () => {
        const client = await openClient(field)
        while (reading) {
          await client.query('begin isolation level repeatable read')
          for (let scans = 0; scans < 5 && reading; scans++) {
            await client.query('select status, count(*) from holdfast.jobs group by status')
            await pause(200)
          }
          await client.query('commit')
        }
        await client.end()
      })
      return async () => {
        reading = false
        await Promise.all(readers)
      }
    },
  },
  event_burst: {
    /** A quarter of the time six times as much, the rest half as much. */
    async press(field) {
      let bursting = true
      const ends = []
      // What is counted begins and ends before a burst, never in the middle of one.
      field.edge = () => new Promise((resolve) => ends.push(resolve))
      const bursts = (async () => {
        while (bursting) {
          field.load.press(6)
          await pause(250)
          field.load.press(0.5)
          await pause(750)
          for (const resolve of ends.splice(0)) resolve()
        }
        field.load.press(1)
      })()
      return async () => {
        bursting = false
        await bursts
      }
    },
  },
}
