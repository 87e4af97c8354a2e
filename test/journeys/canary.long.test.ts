import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { reach } from '../support/cli.js'
import { eventually } from '../support/facts.js'
import type { Queue } from '../support/queue.js'

const types = [{ type: 'work', maxAttempts: 20, backoff: { base: '1ms', jitter: 0 } }]

/** Jobs come all the time, until the test ends or stops them. Answers with their ids. */
function load({ holdfast }: Queue) {
  const ids: string[] = []
  let stopped = false
  const loading = (async () => {
    while (!stopped) {
      const made = await holdfast.enqueueMany(Array.from({ length: 10 }, () => ({ type: 'work', payload: {} })))
      ids.push(...made.map(({ id }) => id))
      await pause(40)
    }
  })()
  const stop = async () => {
    stopped = true
    await loading
    return ids
  }
  onTestFinished(async () => void (await stop()))
  return stop
}

/** As if every worker of these builds had been started so long before. */
const startedBefore = ({ sql }: Queue, minutes: number) =>
  sql(
    `update holdfast.workers set started_at = started_at - $1 * interval '1 minute'
     where stopped_at is null and seen_at > holdfast.now() - interval '1 minute'`,
    [minutes],
  )

test('under load one build goes on and another is rolled back, drained, and no job is lost for it', async () => {
  const { queue, database, eachWay } = await reach()
  const { builds } = queue.holdfast.flow
  const start = (build: string, more: object = {}) => queue.worker({ build, concurrency: 5, poll: '50ms' }, { types, ...more })
  /** What the command says, and what it ends with. */
  const judge = async (...words: string[]) => {
    const { out, code } = await database(['canary', ...words])
    return { code, verdict: out.split(':')[0], out }
  }
  const attemptsOf = async (build: string) => {
    const found = (await builds.list()).find((one) => one.build === build)
    return (found?.completed ?? 0) + (found?.failed ?? 0)
  }
  // How long attempts take on a busy machine is no property of a build.
  await queue.sql(`create function no_runs() returns trigger language plpgsql as 'begin return null; end'`)
  await queue.sql('create trigger no_runs before insert on holdfast.build_runs for each row execute function no_runs()')
  await start('v1', { workers: 3 })
  const stop = load(queue)
  await eventually(async () => (await attemptsOf('v1')) > 200)

  await start('v2')
  await eventually(async () => (await attemptsOf('v2')) > 50)
  const early = await builds.canary('v2')
  expect(early).toMatchObject({ verdict: 'wait', baseline: 'v1', stage: { workers: 1, fleet: 4, next: 2 } })
  expect(early.findings.filter(({ says }) => says !== 'go').map(({ check }) => check)).toEqual(['bake'])
  await startedBefore(queue, 16)
  expect(await judge('v2')).toMatchObject({ code: 0, verdict: 'go' })

  await start('v3', { broken: true })
  await eventually(async () => (await attemptsOf('v3')) > 50)
  expect(await judge('v3', '--baseline', 'v1')).toMatchObject({ code: 3, verdict: 'wait' })
  await startedBefore(queue, 16)
  const bad = await judge('v3', '--within', '1m')
  expect(bad).toMatchObject({ code: 4, verdict: 'roll back' })
  expect(bad.out).toMatch(/roll back {2}work: 6\d\.?\d* % of \d+ attempts failed; of the baseline 0 %/)
  // The other builds are as good as before: what the bad one does is not counted for them.
  expect(await judge('v2', '--baseline', 'v1')).toMatchObject({ code: 0, verdict: 'go' })

  expect(await eachWay.http('builds', 'drain', 'v3', '--why', 'it fails')).toBe('The workers of v3 finish what they have.')
  const held = async () => (await queue.holdfast.flow.slots('default')).length
  const leased = async () =>
    (
      await queue.sql(
        `select count(*)::int as jobs from holdfast.leases as l join holdfast.workers as w on w.id = l.worker_id
       join holdfast.builds as b on b.id = w.build_id where b.name = 'v3'`,
      )
    )[0]?.jobs
  await eventually(async () => (await leased()) === 0)
  expect(await held()).toBe(0)
  const ids = await stop()
  await eventually(async () => (await queue.sql('select from holdfast.live limit 1')).length === 0)
  const [ended] = await queue.sql(
    `select count(distinct h.job_id)::int as completed from holdfast.history as h where h.outcome = 'completed' and h.job_id = any ($1)`,
    [ids],
  )
  expect(ended?.completed).toBe(ids.length)
  expect(await eachWay.database('builds', 'ls')).toMatch(/^v3 .* drained by \S+: it fails$/m)
})
