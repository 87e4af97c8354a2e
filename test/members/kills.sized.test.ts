import { defineType, type Holdfasts } from 'holdfast'
import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { violations } from '../support/invariants.js'
import { openLedger } from '../support/ledger.js'
import { type Members, makeMembers } from '../support/members.js'
import { type Program, runProgram } from '../support/processes.js'
import type { Row } from '../support/queue.js'
import { sized } from '../support/sized.js'

const work = defineType({ type: 'work' })
const ada = { by: 'ada', why: 'a test' }
const kills = sized({ sample: 1, whole: 6 })

/** Enqueues with keys, ten at a time, until it is told that it was enough. */
function producing(holdfasts: Holdfasts, acknowledged: (id: string, member: string) => void) {
  let enough = false
  const done = (async () => {
    for (let n = 0; !enough; n++) {
      const keys = Array.from({ length: 10 }, (_, at) => `${n}-${at}`)
      for (const { id, member } of await Promise.all(keys.map((key) => holdfasts.enqueue(work, { ms: 5 }, { key })))) {
        acknowledged(id.split(':')[1] as string, member)
      }
    }
  })()
  return {
    stop: () => {
      enough = true
      return done
    },
  }
}

test('a member is added and another drained under load, while workers are killed: every acknowledged job ends once', async () => {
  const made = await makeMembers(['eu', 'us'])
  const { add, another } = made
  const ledger = openLedger()
  await made.holdfasts.registerTypes([work])
  const inEach: Record<string, number> = { eu: 0, us: 0, ap: 0 }
  const acknowledged = (job: string, member: string) => {
    ledger.note({ kind: 'acknowledged', job })
    inEach[member] = (inEach[member] ?? 0) + 1
  }
  const spawn = async (members: Record<string, string>) => {
    const program = runProgram('worker-program', { members, ledger: ledger.path, worker: { concurrency: 10 } })
    await program.heard('ready')
    return program
  }
  const fleet: Program[] = [await spawn({ ...made.urls }), await spawn({ ...made.urls })]
  const old = producing(made.holdfasts, acknowledged)
  const killed = async (times: number, members: Record<string, string>) => {
    for (let n = 0; n < times; n++) {
      const before = ledger.bytes()
      await eventually(() => ledger.bytes() > before + 10_000, { within: 60_000 })
      const victim = fleet.shift() as Program
      await victim.kill()
      ledger.note({ kind: 'killed', pid: victim.pid })
      fleet.push(await spawn(members))
    }
  }
  await killed(kills, { ...made.urls })

  // Added: its schema and its name, drained at first; workers and producers are told of it one by one; then it is opened for all at once.
  await add('ap')
  const all = another(['eu', 'us', 'ap'])
  await all.migrate()
  await all.drainMember('ap', ada)
  await all.registerTypes([work])
  const fresh = producing(all, acknowledged)
  await killed(fleet.length, { ...made.urls })
  expect(inEach.ap).toBe(0)
  await all.openMember('ap', ada)
  await eventually(() => (inEach.ap ?? 0) > 50)
  await killed(kills, { ...made.urls })

  // Drained: also the producer that does not know the new member follows.
  await all.drainMember('us', ada)
  await killed(kills, { ...made.urls })
  await eventually(async () => {
    const before = inEach.us
    const least = (inEach.ap ?? 0) + 200
    await eventually(() => (inEach.ap ?? 0) > least)
    return inEach.us === before
  })
  await eventually(async () => (await left(all, 'us')) === 0, { within: 60_000 })
  await Promise.all([old.stop(), fresh.stop()])
  for (const name of all.names) await eventually(async () => (await left(all, name)) === 0, { within: 60_000 })
  expect(await violations(asOne(made, ledger))).toEqual([])
  expect(inEach.us).toBeGreaterThan(0)
}, 240_000)

async function left(holdfasts: Holdfasts, name: string): Promise<number> {
  return (await holdfasts.members()).members.find((member) => member.name === name)?.live as number
}

/** All members as one queue, as the invariants look at it. */
function asOne({ sql, urls }: Members, ledger: ReturnType<typeof openLedger>): Parameters<typeof violations>[0] {
  const everywhere = async (text: string, values?: unknown[]): Promise<Row[]> =>
    (await Promise.all(Object.keys(urls).map((name) => sql(name, text, values)))).flat()
  return { ledger, sql: everywhere } as Parameters<typeof violations>[0]
}
