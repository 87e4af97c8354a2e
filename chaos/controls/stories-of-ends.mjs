// Stories of jobs that end by the clock, in a transaction of their handler's or as somebody else's, and of those that are brought back.
import { defineWorkflow } from 'holdfast'
import pg from 'pg'
import { insideOf } from '../../dist/inside.js'
import { newJobId } from '../../dist/job/id.js'
import { cancel } from '../sweep/operating.mjs'
import { loseAll } from '../sweep/working.mjs'
import { patient } from './stories.mjs'
import { enqueue } from './stories-of-flow.mjs'

const who = { by: 'ada', why: 'a story' }

async function ended(stage, id, status) {
  const is = async () => (await stage.sql('select from holdfast.jobs where id = $1 and status = $2', [id, status])).length > 0
  if (!(await stage.until(is, 60_000))) throw new Error(`job ${id} did not end ${status}`)
}

/** Nobody starts a job in its time. */
export async function expired(stage) {
  stage.promises.undisturbed = true
  const expires = { options: { expireIn: 300, maxAttempts: 20 }, ends: 'dead' }
  const jobs = await enqueue(stage, [expires, expires, {}])
  await stage.until(
    async () => (await stage.sql('select from holdfast.start_deadlines where start_by > holdfast.now()')).length === 0,
  )
  await stage.worker(stage.url, patient)
  await ended(stage, jobs[2].id, 'completed')
}

/** A job is cancelled, and resumed. */
export async function cancelledAndResumed(stage) {
  stage.promises.undisturbed = true
  const [{ id }] = await enqueue(stage, [{ options: { delay: 60_000, maxAttempts: 20 } }])
  const holdfast = stage.producer()
  await holdfast.cancel(id, who)
  stage.note({ kind: 'reviving', job: id })
  stage.note({ kind: 'hurried', job: id, notBefore: 0 })
  const { done } = await holdfast.resume(id, who)
  if (!done) throw new Error(`job ${id} was not resumed`)
  stage.note({ kind: 'acted', action: 'resume', job: id, actor: who.by })
  await holdfast.runNow(id, who)
  await stage.worker(stage.url, patient)
  await ended(stage, id, 'completed')
}

/** A dead job is replayed. */
export async function deadAndReplayed(stage) {
  stage.promises.undisturbed = true
  const [{ id }] = await enqueue(stage, [{ failOnce: true, options: { maxAttempts: 1 } }])
  await stage.worker(stage.url, patient)
  await ended(stage, id, 'dead')
  stage.note({ kind: 'reviving', job: id })
  const { done } = await stage.producer().deadLetters.replay(id, who)
  if (!done) throw new Error(`job ${id} was not replayed`)
  stage.note({ kind: 'acted', action: 'replay', job: id, actor: who.by })
}

/** A worker has lost its lease, and its handler completes the job in a transaction when another worker has begun with it. */
export async function lateCompletion(stage) {
  const open = stage.gate('second')
  const [{ id }] = await enqueue(stage, [{ gates: [null, 'second', 'second'] }])
  await loseAll(stage)
  const [{ lease }] = await stage.sql('select lease_id::text as lease from holdfast.queue where job_id = $1', [id])
  const worker = await stage.worker()
  await stage.until(() => stage.ledger.entries().some(({ kind, attempt }) => kind === 'start' && attempt === 2))
  const client = new pg.Client({ connectionString: stage.url, application_name: 'chaos stage' })
  await client.connect()
  await client.query(insideOf(stage.producer()).store.completion.statement(1, { id, lease }, 100, null))
  await client.end()
  // Its handler has not come to its end when it is sent away.
  await worker.stop({ now: true })
  open()
}

/** A task fails for good. */
export async function taskThatFails(stage) {
  stage.promises.undisturbed = true
  stage.note({ kind: 'asked', call: 'failing', count: 1 })
  const workflow = defineWorkflow({
    name: 'failing',
    tasks(task) {
      task('failing', { type: stage.work, maxAttempts: 1, payload: { call: 'failing', fatal: 'no retry can help' } })
    },
  })
  await stage.producer().registerTypes([stage.work])
  const { id } = await stage.producer().start(workflow, {})
  stage.note({ kind: 'begun', execution: id, call: 'failing' })
  await stage.worker(stage.url, patient)
}

/** Of three members one ends dead, and one is cancelled. */
export async function membersThatFail(stage) {
  stage.promises.undisturbed = true
  const id = newJobId()
  stage.note({ kind: 'asked', call: 'members', count: 3 })
  const jobs = [{}, { fatal: 'no retry can help' }, {}].map((more) => stage.work.job({ call: 'members', ...more }))
  jobs[2] = { ...jobs[2], delay: 60_000 }
  await stage.producer().registerTypes([stage.work])
  const { jobs: made } = await stage.producer().batch({ id, jobs })
  stage.note({ kind: 'batched', batch: id, call: 'members' })
  await cancel(stage, stage.producer(), made[2].id)
  await stage.worker(stage.url, patient)
}
