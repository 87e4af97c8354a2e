/** What one service has of its own, as another might have come by it; or the like of it that nobody has. */
export interface Things {
  service: string
  type: string
  /** A type both services send. */
  shared: string
  job: string
  batch: string
  execution: string
  workflow: string
  /** The number of a key. */
  key: string
  /** A worker's number, and its token. */
  worker: string
  token: string
  lease: string
  idempotencyKey: string
  uniqueKey: string
  /** Found in a payload. */
  marker: string
}

export interface Request {
  path: string
  body?: object
}

const get = (path: string) => [{ path }]
const job = (what: string) => (its: Things) => get(`/jobs/${its.job}${what}`)
const decided = (what: string) => (its: Things) => [{ path: `/jobs/${its.job}/${what}`, body: { why: 'because' } }]
const attempt = (its: Things) => ({ job: its.job, lease: its.lease })

/** How a job may be asked for so that what another service has could show. */
const enqueues = (its: Things, place: string) => [
  { type: its.type, payload: {} },
  { type: its.type, payload: {}, idempotency_key: `${its.idempotencyKey}-${place}` },
  { type: its.shared, payload: {}, idempotency_key: `${its.idempotencyKey}-${place}` },
  ...['reject', 'existing', 'replace', 'one_more'].map((on_conflict, n) => {
    const unique = { key: `${its.uniqueKey}-${place}-${n}`, on_conflict }
    return { type: its.shared, payload: {}, delay: '1h', unique }
  }),
]

/**
 * What a service tries, with each of its keys, at every route a key of its kind is let into. `own` is the token of its own worker.
 * A route that is let in and has no line here fails the test.
 */
export const attempts: Readonly<Record<string, (its: Things, own: string) => Request[]>> = {
  'GET /': () => get('/'),
  'GET /icon.svg': () => get('/icon.svg'),
  'GET /assets/:file': () => get('/assets/none.js'),
  'GET /healthz': () => get('/healthz'),
  'POST /session': ({ token }) => [{ path: '/session', body: { key: token } }],
  'GET /session/ways': () => get('/session/ways'),
  'GET /session/oidc': () => get('/session/oidc'),
  'GET /session/oidc/callback': () => get('/session/oidc/callback'),
  'GET /readyz': () => get('/readyz'),
  'GET /session': () => get('/session'),
  'DELETE /session': () => get('/session'),
  'GET /openapi.json': () => get('/openapi.json'),
  'POST /jobs': (its) => enqueues(its, 'one').map((body) => ({ path: '/jobs', body })),
  'POST /jobs/bulk': (its) => enqueues(its, 'many').map((body) => ({ path: '/jobs/bulk', body: { jobs: [body] } })),
  'GET /jobs': (its) =>
    [
      ...[
        `owner=${its.service}`,
        `type=${its.type}`,
        `type=${its.shared}&status=dead`,
        `cursor=${its.job}&status=completed`,
        `batch=${its.batch}`,
      ],
      `status=running&payload=${encodeURIComponent(JSON.stringify({ marker: its.marker }))}`,
    ].map((query) => ({ path: `/jobs?${query}` })),
  'GET /jobs/counts': (its) =>
    [`owner=${its.service}`, `type=${its.type}`, `batch=${its.batch}`].map((query) => ({ path: `/jobs/counts?${query}` })),
  'GET /events': (its) => [{ path: '/events' }, { path: `/events?type=${its.type}&kind=completed` }],
  'GET /jobs/:id': job(''),
  'GET /jobs/:id/explain': job('/explain'),
  'GET /jobs/:id/log': job('/log'),
  'GET /jobs/:id/wait': job('/wait?timeout=1s'),
  'GET /jobs/:id/stream': job('/stream'),
  'DELETE /jobs/:id': ({ job }) => [{ path: `/jobs/${job}` }, { path: `/jobs/${job}?forget=true` }],
  'POST /jobs/:id/signals': ({ job }) => [{ path: `/jobs/${job}/signals`, body: { name: 'go', payload: 1 } }],
  'POST /jobs/:id/resume': decided('resume'),
  'POST /jobs/:id/run-now': decided('run-now'),
  'POST /jobs/:id/reschedule': ({ job }) => [{ path: `/jobs/${job}/reschedule`, body: { delay: '1h' } }],
  'POST /jobs/:id/approve': decided('approve'),
  'POST /jobs/:id/reject': decided('reject'),
  'POST /batches': (its) => [
    ...enqueues(its, 'batch').map((body) => ({ path: '/batches', body: { jobs: [body] } })),
    { path: '/batches', body: { on_success: { type: its.type, payload: {} } } },
  ],
  'POST /batches/:id/jobs': (its) => [
    { path: `/batches/${its.batch}/jobs`, body: { jobs: [{ type: its.shared, payload: {} }] } },
    { path: `/batches/${its.batch}/jobs`, body: { jobs: [{ type: its.shared, payload: {}, id: its.job }] } },
  ],
  'POST /batches/:id/close': ({ batch }) => [{ path: `/batches/${batch}/close` }],
  // What it really does to the jobs of another is in bulk.test.ts: an answer has the time.
  'POST /bulk': (its) =>
    [{ filter: { all: true } }, { ids: [its.job] }, { filter: { owner: its.service } }].map((which) => ({
      path: '/bulk',
      body: { action: 'cancel', dry_run: true, ...which },
    })),
  'GET /bulk': (its) => [{ path: '/bulk' }, { path: `/bulk?cursor=${its.job}` }],
  'GET /bulk/:id': (its) => get(`/bulk/${its.job}`),
  'POST /bulk/:id/abort': (its) => [{ path: `/bulk/${its.job}/abort`, body: { why: 'because' } }],
  'GET /batches': (its) => [{ path: `/batches?job=${its.job}` }, { path: `/batches?cursor=${its.batch}` }],
  'GET /batches/:id': ({ batch }) => get(`/batches/${batch}`),
  'POST /batches/:id/cancel': ({ batch }) => [{ path: `/batches/${batch}/cancel`, body: { why: 'because' } }],
  'POST /executions': (its) => [
    { path: '/executions', body: { workflow: its.workflow, input: {} } },
    { path: '/executions', body: { workflow: its.workflow, input: {}, version: 1 } },
  ],
  'POST /executions/:id/rerun': ({ execution }) => [{ path: `/executions/${execution}/rerun`, body: { from: 'book' } }],
  'GET /executions': (its) =>
    [`owner=${its.service}`, `workflow=${its.workflow}`, `cursor=${its.execution}&status=running`].map((query) => ({
      path: `/executions?${query}`,
    })),
  'GET /executions/:id': ({ execution }) => get(`/executions/${execution}`),
  'GET /executions/:id/tasks': ({ execution }) => get(`/executions/${execution}/tasks`),
  'GET /executions/:id/wait': ({ execution }) => get(`/executions/${execution}/wait?timeout=1s`),
  'POST /executions/:id/cancel': ({ execution }) => [{ path: `/executions/${execution}/cancel`, body: { why: 'because' } }],
  'POST /worker/register': ({ type }) =>
    [[type], [{ type, max_attempts: 1 }]].map((types) => ({ path: '/worker/register', body: { name: 'spy', types } })),
  'POST /worker/claim': (its, own) => [
    { path: '/worker/claim', body: { worker: `${its.worker}.${'x'.repeat(43)}` } },
    { path: '/worker/claim', body: { worker: own, types: [its.type] } },
    { path: '/worker/claim', body: { worker: own, holding: [its.lease] } },
  ],
  'POST /worker/heartbeat': (its, own) => [
    { path: '/worker/heartbeat', body: { worker: `${its.worker}.${'x'.repeat(43)}`, leases: [its.lease] } },
    { path: '/worker/heartbeat', body: { worker: own, leases: [its.lease], lease: '1s' } },
    {
      path: '/worker/heartbeat',
      body: { worker: own, leases: [], reports: [{ ...attempt(its), progress: 0.9, lines: ['a word'], checkpoint: 1 }] },
    },
  ],
  'POST /worker/steps': (its, own) => [{ path: '/worker/steps', body: { worker: own, ...attempt(its) } }],
  'POST /worker/step': (its, own) =>
    [{ kind: 'step', result: 1 }, { kind: 'sleep', duration: '1h' }, { kind: 'signal' }].map((step) => ({
      path: '/worker/step',
      body: { worker: own, ...attempt(its), name: 'one', ...step },
    })),
  'POST /worker/settle': (its, own) => [
    ...['complete', 'fail', 'snooze', 'hand_back'].map((result) => ({
      path: '/worker/settle',
      body: {
        worker: own,
        results: [
          {
            ...attempt(its),
            result,
            ...(result === 'fail' && { error: { message: 'no' }, fatal: true }),
            ...(result === 'snooze' && { delay: '1h' }),
          },
        ],
      },
    })),
    {
      path: '/worker/settle',
      body: { worker: `${its.worker}.${'x'.repeat(43)}`, results: [{ ...attempt(its), result: 'complete' }] },
    },
  ],
  'POST /worker/task': (its, own) => [
    { path: '/worker/task', body: { worker: own, ...attempt(its) } },
    { path: '/worker/task', body: { worker: `${its.worker}.${'x'.repeat(43)}`, ...attempt(its) } },
  ],
  'POST /worker/sign-off': (its) => [{ path: '/worker/sign-off', body: { worker: `${its.worker}.${'x'.repeat(43)}` } }],
}
