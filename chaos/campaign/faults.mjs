// What falls on a campaign. Each fault strikes, lasts a while, and is healed before the next one comes:
//   strike(field, random) resolves when it has been healed
import { setTimeout as pause } from 'node:timers/promises'
import { Holdfast } from 'holdfast'
import pg from 'pg'
import { fingerprint } from '../evidence/fingerprint.mjs'
import { types } from '../load/types.mjs'
import { pick } from '../seeded.mjs'

/** Longer than the leases of the campaign's workers. */
const longerThanALease = 3_500

let poisoned = 0

export const faults = {
  /** A job that kills whoever runs it: after its two attempts it must lie among the dead letters, and the fleet live. */
  async poison(field) {
    const wanted = field.fleet.of('worker').length
    const call = `poison-${++poisoned}`
    const payload = { call, killUntil: 20 }
    const holdfast = new Holdfast({ connectionString: field.server.url })
    field.note({ kind: 'asked', call, count: 1 })
    const { id: job, status } = await holdfast.enqueue(types.work, payload, { maxAttempts: 2, priority: 9 })
    field.note({ kind: 'acknowledged', call, job, status, payload: fingerprint(payload), ends: 'dead' })
    for (let left = 30_000; left > 0 && (await holdfast.job(job)).status !== 'dead'; left -= 200) {
      if (field.fleet.of('worker').length < wanted) await field.startWorker()
      await pause(200)
    }
    await holdfast.close()
    while (field.fleet.of('worker').length < wanted) await field.startWorker()
  },
  async 'kill-worker'(field, random) {
    const victim = pick(field.fleet.of('worker'), random)
    await field.fleet.kill(victim)
    field.note({ kind: 'killed', pid: victim.pid })
    await field.startWorker()
  },
  async 'freeze-worker'(field, random) {
    const victim = pick(field.fleet.of('worker'), random)
    field.note({ kind: 'frozen', pid: victim.pid })
    victim.child.kill('SIGSTOP')
    await pause(longerThanALease)
    victim.child.kill('SIGCONT')
  },
  async 'stop-worker'(field, random) {
    await field.fleet.stop(pick(field.fleet.of('worker'), random))
    await field.startWorker()
  },
  /** While it works, its clock goes two hours ahead, and back again. */
  async 'clock-jump'(field, random) {
    const victim = pick(field.fleet.of('worker'), random)
    victim.child.kill('SIGUSR2')
    await pause(longerThanALease)
    victim.child.kill('SIGUSR2')
  },
  async 'worker-with-a-wrong-clock'(field, random) {
    const victim = pick(field.fleet.of('worker'), random)
    await field.fleet.kill(victim)
    field.note({ kind: 'killed', pid: victim.pid })
    await field.startWorker({ skewMs: pick([-7_200_000, 7_200_000], random) })
  },
  async 'kill-producer'(field, random) {
    const victim = pick(field.fleet.of('producer'), random)
    await field.fleet.kill(victim)
    await field.startProducer(Math.floor(random() * 1e6))
  },
  /** In the middle of whatever it was asked; somebody starts it again, as a supervisor does. */
  async 'kill-server'(field, random) {
    for (let round = 0; round < 3; round++) {
      await field.fleet.kill(field.fleet.of('http-server')[0])
      await pause(random() * 500)
      await field.startHttpServer()
      if (!(await field.acknowledgedOverHttp())) throw new Error('no job was taken over HTTP after the server was started again')
    }
  },
  async 'freeze-server'(field) {
    const [victim] = field.fleet.of('http-server')
    victim.child.kill('SIGSTOP')
    await pause(longerThanALease)
    victim.child.kill('SIGCONT')
    if (!(await field.acknowledgedOverHttp())) throw new Error('no job was taken over HTTP after the server went on')
  },
  async 'kill-backends'(field, random) {
    const share = pick([0.3, 1], random)
    await field.admin(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname is not null and pid <> pg_backend_pid() and backend_type = 'client backend' and random() < $1`,
      [share],
    )
  },
  async 'crash-postgres'(field, random) {
    await field.server.crash()
    await pause(random() * 1_500)
    await field.server.restart()
  },
  async partition(field, random) {
    field.proxy.silence()
    await pause(1_000 + random() * 3_000)
    await field.proxy.heal()
  },
  async 'cut-off'(field, random) {
    field.proxy.refuse()
    field.proxy.cut()
    await pause(random() * 2_000)
    await field.proxy.heal()
  },
  async 'slow-network'(field, random) {
    field.proxy.freeze()
    await pause(500 + random() * 2_000)
    await field.proxy.heal()
  },
  /** Others take every connection there is. */
  async 'no-connection-left'(field) {
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
  /** Sessions that hold their locks and do not move, as on a disk that does not answer. */
  async 'frozen-backends'(field, random) {
    const rows = await field.admin(
      `select pid from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() and datname is not null`,
    )
    const frozen = rows.filter(() => random() < 0.5).map(({ pid }) => pid)
    const signal = (name) => {
      for (const pid of frozen) {
        try {
          process.kill(pid, name)
        } catch {
          // It has ended meanwhile.
        }
      }
    }
    signal('SIGSTOP')
    await pause(longerThanALease)
    signal('SIGCONT')
  },
}
