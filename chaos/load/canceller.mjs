// A person who cancels jobs that others enqueue, in a process of its own. Its one argument is JSON: { url, ledger, seed,
// pauseMs, holdfast }. It learns of jobs from the ledger, and notes whom it is about to cancel and what it was told.
import { setTimeout as pause } from 'node:timers/promises'
import { Holdfast } from 'holdfast'
import { openLedger } from '../evidence/ledger.mjs'
import { pick, seeded } from '../seeded.mjs'

const { url, ledger, seed, pauseMs, holdfast: options = {} } = JSON.parse(process.argv[2])
const { note, entries } = openLedger(ledger)
const random = seeded(seed)
const who = { by: 'grace', why: 'nobody wants it any more' }
const holdfast = new Holdfast({ connectionString: url, ...options })
let stopping = false
process.on('SIGTERM', () => {
  stopping = true
})
process.on('disconnect', () => process.exit(1))

async function cancel({ job }) {
  note({ kind: 'cancelling', job })
  const told = await holdfast.cancel(job, who).catch(() => undefined)
  if (!told) return
  note({ kind: 'cancelled', job, done: told.done, answer: told.status })
  if (told.done) note({ kind: 'acted', action: 'cancel', job, actor: who.by })
}

process.send({ question: 'ready' })
while (!stopping) {
  // The newest: they wait or run. Not poison, which is there to end dead.
  const known = entries().filter(({ kind, call }) => kind === 'acknowledged' && !String(call).startsWith('poison'))
  if (known.length > 0) await cancel(pick(known.slice(-20), random))
  await pause(pauseMs * 2 * random())
}
await holdfast.close()
process.exit(0)
