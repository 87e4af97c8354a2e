import type { rules } from 'holdfast/server'

type Rule = (typeof rules)[string]

/**
 * Every route there is and what it needs, written down once more beside the table the server goes by: a change of either has to be
 * meant, and a route that is added without a line here fails the matrix.
 */
const routesBy: Readonly<Partial<Record<Rule, readonly string[]>>> = {
  open: ['GET /', 'GET /page/page.js', 'GET /page/page.css', 'GET /page/icon.svg', 'GET /healthz', 'POST /session'],
  'any key': ['GET /readyz', 'GET /session', 'DELETE /session', 'GET /openapi.json'],
  'workers:view': [
    'GET /status',
    'GET /autoscale',
    'GET /metrics',
    'GET /admin/workers/lanes',
    'GET /admin/workers/status',
    'GET /admin/job-types',
    'GET /admin/job-types/:type/keys',
    'GET /admin/depth-limits',
    'GET /admin/dlq',
    'GET /admin/dlq/:id',
    'GET /admin/alerts',
  ],
  'jobs:enqueue': [
    'POST /jobs',
    'POST /jobs/bulk',
    'POST /jobs/:id/signals',
    'POST /batches',
    'POST /batches/:id/jobs',
    'POST /batches/:id/close',
  ],
  'jobs:read': [
    'GET /batches',
    'GET /batches/:id',
    'GET /jobs',
    'GET /jobs/:id',
    'GET /jobs/:id/explain',
    'GET /jobs/:id/wait',
    'GET /jobs/:id/stream',
  ],
  'jobs:cancel': ['POST /batches/:id/cancel', 'DELETE /jobs/:id', 'POST /jobs/:id/approve', 'POST /jobs/:id/reject'],
  'jobs:work': [
    'POST /worker/register',
    'POST /worker/claim',
    'POST /worker/heartbeat',
    'POST /worker/settle',
    'POST /worker/sign-off',
  ],
  'workers:manage': [
    'PATCH /admin/workers/lanes/:name',
    'POST /admin/workers/remote/:id/drain',
    'POST /admin/workers/jobs/:id/cancel',
    'PATCH /admin/workers/jobs/:id/priority',
    'POST /admin/job-types/:type/pause',
    'POST /admin/job-types/:type/resume',
    'POST /admin/job-types/:type/breaker',
    'PATCH /admin/job-types/:type/limits',
    'POST /admin/job-types/:type/keys/pause',
    'POST /admin/job-types/:type/keys/resume',
    'PUT /admin/job-types/:type/keys/weight',
    'PUT /admin/depth-limits',
    'PUT /admin/alerts/rules/:name',
    'DELETE /admin/alerts/rules/:name',
  ],
  'dlq:manage': [
    'POST /batches/:id/retry',
    'POST /admin/dlq/replay',
    'POST /admin/dlq/discard',
    'POST /admin/dlq/:id/replay',
    'POST /admin/dlq/:id/discard',
  ],
  admin: [
    'GET /admin/alerts/targets',
    'POST /admin/alerts/targets',
    'DELETE /admin/alerts/targets/:id',
    'POST /admin/alerts/targets/:id/test',
    'POST /admin/alerts/targets/:id/rotate',
    'GET /admin/keys',
    'POST /admin/keys',
    'POST /admin/certificates',
    'POST /admin/keys/:id/rotate',
    'DELETE /admin/keys/:id',
    'GET /admin/roles',
    'PUT /admin/roles/:name',
    'DELETE /admin/roles/:name',
    'GET /admin/audit',
  ],
}

export const expectedRules: Readonly<Record<string, Rule>> = Object.fromEntries(
  Object.entries(routesBy).flatMap(([rule, routes]) => routes.map((route) => [route, rule as Rule])),
)
