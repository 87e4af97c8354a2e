// Stories of steps, sleeps and signals, of workflows and batches.
import { defineWorkflow } from 'holdfast'
import pg from 'pg'
import { insideOf } from '../../dist/inside.js'
import { newJobId } from '../../dist/job/id.js'
import { fingerprint } from '../evidence/fingerprint.mjs'
import { work } from '../load/handler.mjs'
import { loseAll } from '../sweep/working.mjs'
import { patient } from './stories.mjs'

const enqueue = (stage, specs) => stage.enqueue((requests) => stage.producer().enqueueMany(requests), specs)
const started = (stage, fits) => stage.until(() => stage.ledger.entries().some((entry) => entry.kind === 'start' && fits(entry)))

async function connect(stage) {
  const client = new pg.Client({ connectionString: stage.url, application_name: 'chaos stage' })
  await client.connect()
  stage.onClose(() => client.end())
  return client
}

/** A fact that has to come, whatever the defect does. */
async function sure(stage, what, fact) {
  if (!(await stage.until(fact, 60_000))) throw new Error(`${what} did not come`)
}

/** Jobs with steps fail after them, and one sleeps between two of them. */
export async function stepsAndRetries(stage) {
  stage.promises.undisturbed = true
  await stage.worker(stage.url, patient)
  await enqueue(stage, [{ steps: 4, failUntil: 2 }, { steps: 3 }, { steps: 2, sleepMs: 5_000 }])
}

/** Two signals are there before the job that waits for both. */
export async function twoSignals(stage) {
  stage.promises.undisturbed = true
  const [{ id }] = await enqueue(stage, [{ waits: 2 }])
  for (const value of ['first', 'second']) {
    stage.note({ kind: 'signalling', job: id, value })
    await stage.producer().signal(id, 'go', value)
  }
  await stage.worker(stage.url, patient)
}

/** A worker has lost its lease, and writes a step when another one has begun with its job. */
export async function lateStep(stage) {
  const open = stage.gate('second')
  const [{ id }] = await enqueue(stage, [{ gates: [null, 'second'] }])
  await loseAll(stage)
  const [{ fence }] = await stage.sql('select lease_id::text as fence from holdfast.queue where job_id = $1', [id])
  const [{ payload }] = await stage.sql('select payload from holdfast.bodies where id = $1', [id])
  const lost = { job: id, attempt: 1, fence, pid: 0 }
  stage.note({ kind: 'start', ...lost, payload: fingerprint(payload) })
  await stage.worker(stage.url, patient)
  await sure(stage, 'the second attempt', () => started(stage, ({ attempt }) => attempt === 2))
  stage.note({ kind: 'step', ...lost, step: 'step 1' })
  const step = { name: 'step 1', kind: 'step', position: 1, after: 0, done: 1, result: '1' }
  const kept = await insideOf(stage.producer()).store.log.steps.save(id, fence, step)
  if (kept) stage.note({ kind: 'stepped', ...lost, step: 'step 1', value: fingerprint(1) })
  open()
}

/** A task with a payload of its own, which its call is named after. */
const taskOf = (name, more = {}) => ({ type: work, maxAttempts: 20, payload: { call: name, ...more } })

/** Two tasks that each wait at a gate of their name, and one that waits for both. */
async function startTwo(stage) {
  const names = ['left', 'right', 'join']
  for (const call of names) stage.note({ kind: 'asked', call, count: 1 })
  const workflow = defineWorkflow({
    name: 'two',
    tasks(task) {
      const parents = ['left', 'right'].map((name) => task(name, taskOf(name, { gates: [name] })))
      task('join', { ...taskOf('join'), after: parents })
    },
  })
  const gates = { left: stage.gate('left'), right: stage.gate('right') }
  await stage.producer().registerTypes([stage.work])
  const { id } = await stage.producer().start(workflow, {})
  stage.note({ kind: 'begun', execution: id, call: 'two' })
  const is = async (task, status) =>
    (await stage.sql('select from holdfast.tasks where name = $1 and status = $2', [task, status])).length > 0
  return { id, gates, is }
}

/** One parent ends long before the other. */
export async function oneParentFirst(stage) {
  stage.promises.undisturbed = true
  const { gates, is } = await startTwo(stage)
  await stage.worker(stage.url, patient)
  await sure(stage, 'the second parent', () => started(stage, ({ call }) => call === 'right'))
  gates.left()
  await sure(stage, 'the end of the first parent', () => is('left', 'completed'))
  // What was to follow it was decided in the transaction that says so.
  if (await is('join', 'started')) await started(stage, ({ call }) => call === 'join')
  gates.right()
}

/** Both parents end while somebody holds the row of the task that waits for them: whoever counts them down comes together there. */
export async function twoEndsAtOnce(stage) {
  stage.promises.undisturbed = true
  const { id, gates, is } = await startTwo(stage)
  const alone = { ...patient, concurrency: 1 }
  await Promise.all([stage.worker(stage.url, alone), stage.worker(stage.url, alone)])
  for (const name of ['left', 'right']) await sure(stage, name, () => started(stage, ({ call }) => call === name))
  const [holder, second] = [await connect(stage), await connect(stage)]
  await holder.query('begin')
  await holder.query(`select from holdfast.tasks where execution_id = $1 and name = 'join' for update`, [id])
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event in ('transactionid', 'tuple')`
  const waits = async (count) => (await stage.sql(waiting)).length >= count
  gates.left()
  await sure(stage, 'whoever counts the first end', () => waits(1))
  gates.right()
  const ended = `select from holdfast.jobs where status = 'completed' and payload ->> 'call' = 'right'`
  await sure(stage, 'the second end', async () => (await stage.sql(ended)).length > 0)
  let leftToOther = false
  const advancing = second.query('select holdfast.advance_execution($1) as done', [id]).then(({ rows: [{ done }] }) => {
    leftToOther = !done
  })
  await sure(stage, 'whoever counts the second end', async () => leftToOther || (await waits(2)))
  await holder.query('commit')
  await advancing
  await stage.until(() => is('join', 'completed'), 5_000)
}

/** Of three members one is slow. */
export async function slowMember(stage) {
  stage.promises.undisturbed = true
  const open = stage.gate('slow')
  const id = newJobId()
  const callback = (kind) => {
    stage.note({ kind: 'asked', call: kind, count: 1 })
    return work.job({ call: kind, callback: kind, batch: id })
  }
  stage.note({ kind: 'asked', call: 'members', count: 3 })
  const jobs = [{}, {}, { gates: ['slow'] }].map((more) => work.job({ call: 'members', ...more }))
  await stage.producer().registerTypes([stage.work])
  await stage.producer().batch({ id, jobs, onSuccess: callback('success'), onFailure: callback('failure'), onComplete: callback('complete') }) // biome-ignore format: one request
  stage.note({ kind: 'batched', batch: id, call: 'members' })
  await stage.worker(stage.url, patient)
  const added = `select from holdfast.batches where completed > 0 or finished_at is not null`
  await sure(stage, 'the end of a member', async () => (await stage.sql(added)).length > 0)
  // Whether that ended the batch was decided in the transaction that added them up.
  const callbacks = `select from holdfast.jobs where payload ->> 'call' = 'complete'`
  if ((await stage.sql(callbacks)).length > 0) await started(stage, ({ call }) => call === 'complete')
  open()
}
