// npm run example knowledge-graph: users ingest, upkeep computes, and operators intervene, all through the HTTP API.
import { randomBytes } from 'node:crypto'
import { HoldfastClient } from 'holdfast/client'
import { until } from '../support/stage.mjs'
import { firstProgress } from './progress.mjs'

const program = (name) => new URL(name, import.meta.url)
const beside = ['ingest_image', 'polarity', 'restore', 'vocab_consolidate', 'artifact_cleanup', 'source_embedding']
const behind = ['vocab_refresh', 'epistemic_remeasurement', 'ontology_annealing', 'proposal_execution']

export async function play(stage, { chunkMs = Number(process.env.CHUNK_MS ?? 200), lease = '2s' } = {}) {
  const { say } = stage
  const adminKey = `hf_${randomBytes(18).toString('base64url')}`
  const server = await stage.start(program('server.mjs'), { ADMIN_KEY: adminKey })
  const startWorker = () => stage.start(program('worker.mjs'), { CHUNK_MS: chunkMs, LEASE: lease })
  let worker = await startWorker()
  const clientOf = (key) => new HoldfastClient({ url: server.ready, key })
  const admin = clientOf(adminKey)
  await admin.access.setRole('monitor', { permissions: ['workers:view'] })
  await admin.access.setRole('platform_admin', { permissions: ['workers:view', 'workers:manage', 'jobs:read', 'jobs:cancel'] })
  await admin.access.setRole('user', { permissions: ['jobs:enqueue', 'jobs:read'] })
  const keyFor = async (service, role) => (await admin.access.createKey({ service, roles: [role] })).key
  const monitor = clientOf(await keyFor('wall-screen', 'monitor'))
  const operator = clientOf(await keyFor('ops', 'platform_admin'))
  const user = clientOf(await keyFor('library', 'user'))

  const ingest = (title, chunks = 3) => user.enqueue('ingestion', { title, chunks })
  const statusOf = async (id) => (await operator.job(id)).status
  const reaches = (id, status) => until(async () => (await statusOf(id)) === status)
  const ends = async (id) => (await operator.wait(id, { timeout: '60s' })).result

  say('A projection computes in the maintenance lane. Meanwhile a text is ingested, after somebody else has approved it.')
  const projection = await user.enqueue('projection', { rounds: 600 })
  await reaches(projection.id, 'processing')
  const text = await ingest('Moby-Dick', 5)
  const waited = await operator.explain(text.id)
  say(`  explain: ${waited.gates[0].why}`)
  await operator.approve(text.id, { why: 'a classic' })
  const progress = await firstProgress(server.ready, adminKey, text.id)
  say(`  progress by server-sent events: ${progress.note}`)
  const ingested = await ends(text.id)
  const projectionThen = await statusOf(projection.id)
  say(`  ingested ${ingested.ingested} chunks while the projection was ${projectionThen}`)

  say(
    '\nOne job of every other type: those of the other lanes run beside the projection, those of its own lane wait for its slot.',
  )
  const short = async (types) => Promise.all(types.map(async (type) => (await user.enqueue(type, {})).id))
  const [free, held] = [await short(beside), await short(behind)]
  for (const id of free) await ends(id)
  const waiting = await operator.explain(held[0])
  say(`  ${free.length} have run; explain of the others: ${waiting.gates[0].why}`)

  say('\nThe projection is cancelled at its next checkpoint, the others run, and it is taken up again from there.')
  const reached = async () => (await operator.job(projection.id)).progress
  await until(reached)
  await operator.cancel(projection.id, { why: 'the afternoon is for users' })
  const cancelled = await statusOf(projection.id)
  for (const id of held) await ends(id)
  const before = await reached()
  await until(async () => (await operator.resume(projection.id).catch(() => ({ done: false }))).done)
  await reaches(projection.id, 'processing')
  const resumed = await until(async () => [await reached()].find((now) => now && now.fraction !== before.fraction))
  say(`  it was cancelled after ${before.note}, and has gone on behind that: ${resumed.note}`)
  const slots = await monitor.flow.slots('maintenance')
  say(`  the monitor sees it in one of ${slots.limit} slot of the lane "maintenance"`)
  const refused = await monitor.flow.setLane('maintenance', { enabled: false }).catch((error) => error)
  say(`  and may not drain that lane: ${refused.code}`)

  say('\nThe interactive lane is drained, set to one slot, and filled; the last text is put first; then the lane resumes.')
  await operator.flow.setLane('interactive', { enabled: false, slots: 1, why: 'strictly one after the other' })
  const queue = []
  for (const title of ['Emma', 'Ulysses', 'Dracula']) {
    const { id } = await ingest(title, 1)
    await operator.approve(id)
    queue.push(id)
  }
  await operator.setPriority(queue[2], 9, { why: 'Halloween' })
  const drained = await operator.explain(queue[0])
  say(`  explain: ${drained.gates.map((gate) => gate.why).join('; ')}`)
  await operator.flow.setLane('interactive', { enabled: true })
  for (const id of queue) await ends(id)
  const stories = await Promise.all(queue.map((id) => operator.job(id)))
  const order = stories.sort((a, b) => Date.parse(a.started_at) - Date.parse(b.started_at)).map((job) => job.payload.title)
  say(`  they ran one after the other: ${order.join(', ')}`)

  say('\nThe worker is killed with a text half ingested; another one goes on from its checkpoint when the lease has run out.')
  const long = await ingest('War and Peace', 10)
  await operator.approve(long.id)
  await until(async () => ((await operator.job(long.id)).progress?.fraction ?? 0) > 0.2)
  await worker.stop('SIGKILL')
  worker = await startWorker()
  const recovered = await ends(long.id)
  const { attempts } = await operator.job(long.id)
  say(`  attempt ${attempts.length} went on at chunk ${recovered.continuedAt + 1}`)
  await operator.cancel(projection.id, { why: 'the example ends' })
  return {
    waited,
    progress,
    projectionThen,
    waiting,
    cancelled,
    before,
    resumed,
    slots,
    refused,
    drained,
    order,
    recovered,
    attempts,
    operator,
    projection,
  }
}
