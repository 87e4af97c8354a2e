// Whether every page of the dashboard answers within a second with ten million finished jobs kept, and none of its requests reads a table whole.
import { defineType, defineWorkflow, Holdfast } from '../../dist/index.js'
import { createServer } from '../../dist/server/index.js'
import { startWorker } from '../../dist/worker/index.js'
import { fillHistory } from '../filling.mjs'
import { openStage, within } from '../stage.mjs'

const adminKey = 'hf_the-key-of-the-bench-of-pages'
const quiet = { info() {}, warn() {}, error() {} }
const hour = () => new Date(Date.now() - 3_600_000).toISOString()

/** What each page asks for, as the dashboard asks it; of the jobs also the filters that fit few of them, or none. */
const walk = ({ live, old, error, batch, execution, type = 'bench' }) => ({
  Overview: ['/status', '/autoscale', `/series?from=${hour()}`, '/admin/workers/status', '/admin/alerts', '/admin/audit?limit=6'],
  'Lanes and workers': ['/admin/workers/lanes', '/admin/depth-limits'],
  'Job types': ['/admin/job-types', '/series/types'],
  'One type': [
    `/admin/job-types/${type}`,
    `/admin/job-types/${type}/keys`,
    `/series?from=${hour()}&type=${type}`,
    `/errors?type=${type}`,
  ],
  Jobs: [
    '/jobs?limit=50',
    `/jobs?limit=50&cursor=${old}`,
    ...['completed', 'scheduled', 'pending', 'processing', 'failed', 'dead', 'cancelled', 'awaiting_approval'].map(
      (status) => `/jobs?limit=50&status=${status}`,
    ),
    `/jobs?limit=50&type=${type}`,
    '/jobs?limit=50&type=rare',
    '/jobs?limit=50&tags=rare',
    '/jobs?limit=50&concurrency_key=rare',
    '/jobs?limit=50&lane=system',
    `/jobs?limit=50&payload=${encodeURIComponent('{"tenant":7}')}`,
    '/jobs?limit=50&text=nowhere',
    `/jobs?limit=50&created_before=${hour()}`,
    `/jobs?limit=50&type=rare&payload=${encodeURIComponent('{"tenant":7}')}`,
    `/jobs?limit=50&ended_after=${hour()}`,
    `/jobs?limit=50&ended_before=${hour()}`,
    `/jobs?limit=50&error_group=${error}`,
    `/jobs?limit=50&batch=${batch}`,
    '/jobs?limit=50&owner=nobody',
    '/jobs/counts',
  ],
  'One job': [`/jobs/${live}`, `/jobs/${live}/explain`, `/jobs/${old}`],
  'Dead letters': ['/admin/dlq?limit=100', { path: '/admin/dlq/replay', body: { filter: { all: true }, dry_run: true } }],
  Errors: ['/errors'],
  'One error': [`/errors/${error}`],
  'Bulk actions': ['/bulk'],
  Approvals: ['/jobs?status=awaiting_approval'],
  Schedules: ['/admin/schedules'],
  Batches: ['/batches'],
  'One batch': [`/batches/${batch}`, `/jobs?limit=50&batch=${batch}`],
  Workflows: ['/executions', '/workflows'],
  'One execution': [`/executions/${execution}`, `/executions/${execution}/tasks`],
  Alerts: ['/admin/alerts', '/admin/alerts/targets'],
  'Audit log': ['/admin/audit'],
  'Keys and roles': ['/admin/keys', '/admin/roles'],
  Settings: ['/admin/settings', '/session', '/doctor'],
})

async function open(bench, { finished }) {
  const stage = await openStage(bench, 'holdfast')
  const holdfast = new Holdfast({ connectionString: stage.url })
  const server = createServer(holdfast, { adminKey, logger: quiet })
  const close = async () => {
    await server.close()
    await holdfast.close()
    await stage.close()
  }
  try {
    await fillHistory(stage.client, finished)
    await holdfast.registerTypes([defineType({ type: 'rare', searchable: ['tenant'] })])
    const [{ id: live }] = await holdfast.enqueueMany(
      Array.from({ length: 1_000 }, () => ({ type: 'bench', payload: {}, delay: '1h' })),
    )
    await holdfast.enqueue('rare', { tenant: 7 }, { tags: ['rare'], concurrencyKey: 'rare', delay: '1h' })
    const ids = await fillPages(holdfast)
    const { rows } = await stage.client.query('select id from holdfast.bodies order by id offset 1000 limit 1')
    await stage.client.query('vacuum analyze')
    const address = await server.listen({ host: '127.0.0.1', port: 0 })
    return { stage, address, live, old: rows[0].id, ...ids, close }
  } catch (error) {
    await close()
    throw error
  }
}

const fails = defineType({ type: 'fails', maxAttempts: 1, run: () => Promise.reject(new Error('no printer')) })
const order = defineWorkflow({ name: 'order', tasks: (task) => void task('pack', { run: () => 'a box' }) })

/** One of each of what has a page of its own: an error group, a batch, an execution. */
async function fillPages(holdfast) {
  const worker = await startWorker(holdfast, [fails, order], { logger: quiet })
  try {
    const [batch, execution] = [await holdfast.batch({ jobs: [fails.job({})] }), await holdfast.start(order, null)]
    for (;;) {
      const [group] = await holdfast.errorGroups.list()
      if (group) return { error: group.fingerprint, batch: batch.id, execution: execution.id }
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  } finally {
    await worker.stop()
  }
}

/** Rows that were read by reading whole tables, of those that grow with the jobs. Only what other sessions have reported is counted. */
async function readWhole(client) {
  await client.query('select pg_stat_clear_snapshot()')
  const { rows } = await client.query(
    `select coalesce(sum(seq_tup_read), 0)::float8 as rows from pg_stat_user_tables where relname ~ '^(bodies|history|dead_letters|results)_'`,
  )
  return rows[0].rows
}

const requestOf = (body) => ({
  method: body ? 'POST' : 'GET',
  headers: { authorization: `Bearer ${adminKey}`, ...(body && { 'content-type': 'application/json' }) },
  ...(body && { body: JSON.stringify(body) }),
})

const walking = (bench, _size, place) =>
  within(
    bench.limitMs,
    (async () => {
      const before = await readWhole(place.stage.client)
      const slowest = { ms: 0, path: '' }
      for (const [page, paths] of Object.entries(walk(place))) {
        for (const asked of paths) {
          const { path, body } = typeof asked === 'string' ? { path: asked } : asked
          const begun = performance.now()
          const answer = await fetch(place.address + path, requestOf(body))
          const said = await answer.text()
          const ms = performance.now() - begun
          if (answer.status !== 200) throw new Error(`${page}: ${path} answered ${answer.status}: ${said}`)
          if (ms > slowest.ms) Object.assign(slowest, { ms, path })
        }
      }
      // Sessions report what they read when they have been idle for a second, or end.
      await new Promise((resolve) => setTimeout(resolve, 1_500))
      const scanned = (await readWhole(place.stage.client)) - before
      return { slowest: slowest.ms, path: slowest.path, scanned }
    })(),
  )

export default {
  name: 'pages',
  sizes: {
    quick: { finished: 50_000, rounds: 2 },
    short: { finished: 1_000_000, rounds: 3 },
    full: { finished: 10_000_000, rounds: 3 },
  },
  open,
  contestants: { holdfast: walking },
  rows: [
    {
      name: 'pages',
      title: ({ finished }) =>
        `the slowest request of any page of the dashboard, ${finished.toLocaleString('en')} finished jobs kept`,
      unit: 'ms',
      figure: 'slowest',
      better: 'lower',
      bars: [{ value: true, below: 1_000 }],
    },
    {
      name: 'pages-scans',
      title: () => 'rows that the pages read by reading a table of jobs whole',
      unit: 'rows',
      figure: 'scanned',
      better: 'lower',
      bars: [{ value: true, atMost: 1_000 }],
    },
  ],
}
