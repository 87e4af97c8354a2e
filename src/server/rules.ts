import type { Permission } from '../api/permissions.js'
import { HoldfastError } from '../errors.js'

/** What a request needs: nothing, any live key, or a key with this permission. */
export type Rule = 'open' | 'any key' | Permission

/** Who may call what. A server with a route that is not in this table does not start. A route with GET serves HEAD too. */
export const rules: Readonly<Record<string, Rule>> = {
  // These have no data in them.
  'GET /': 'open',
  'GET /icon.svg': 'open',
  'GET /assets/:file': 'open',
  'GET /healthz': 'open',
  // The key is in the body and is checked there.
  'POST /session': 'open',
  // They lead to the provider through which people sign in, and back; what comes back is checked there.
  'GET /session/ways': 'open',
  'GET /session/oidc': 'open',
  'GET /session/oidc/callback': 'open',
  'GET /readyz': 'any key',
  'GET /session': 'any key',
  'DELETE /session': 'any key',
  'GET /openapi.json': 'any key',
  'GET /status': 'workers:view',
  'GET /autoscale': 'workers:view',
  'GET /metrics': 'workers:view',
  'GET /series': 'workers:view',
  'GET /errors': 'workers:view',
  'GET /errors/:fingerprint': 'workers:view',
  // It opens connections, and names the sessions of other programs.
  'GET /doctor': 'workers:manage',

  'POST /jobs': 'jobs:enqueue',
  'POST /jobs/bulk': 'jobs:enqueue',
  'POST /jobs/:id/signals': 'jobs:enqueue',
  'GET /events': 'jobs:read',
  'GET /jobs': 'jobs:read',
  'GET /jobs/counts': 'jobs:read',
  'GET /jobs/:id': 'jobs:read',
  'GET /jobs/:id/explain': 'jobs:read',
  'GET /jobs/:id/wait': 'jobs:read',
  'GET /jobs/:id/stream': 'jobs:read',
  'DELETE /jobs/:id': 'jobs:cancel',
  'POST /jobs/:id/resume': 'jobs:cancel',
  'POST /jobs/:id/run-now': 'jobs:cancel',
  'POST /jobs/:id/reschedule': 'jobs:cancel',
  'POST /jobs/:id/bury': 'dlq:manage',
  'POST /jobs/:id/approve': 'jobs:cancel',
  'POST /jobs/:id/reject': 'jobs:cancel',

  // What the action itself needs is checked there.
  'POST /bulk': 'jobs:cancel',
  'GET /bulk': 'jobs:read',
  'GET /bulk/:id': 'jobs:read',
  'POST /bulk/:id/abort': 'jobs:cancel',

  'POST /batches': 'jobs:enqueue',
  'POST /batches/:id/jobs': 'jobs:enqueue',
  'POST /batches/:id/close': 'jobs:enqueue',
  'GET /batches': 'jobs:read',
  'GET /batches/:id': 'jobs:read',
  'POST /batches/:id/cancel': 'jobs:cancel',
  'POST /batches/:id/retry': 'dlq:manage',

  'POST /executions': 'jobs:enqueue',
  'POST /executions/:id/rerun': 'jobs:enqueue',
  'GET /executions': 'jobs:read',
  'GET /workflows': 'workers:view',
  'GET /executions/:id': 'jobs:read',
  'GET /executions/:id/tasks': 'jobs:read',
  'GET /executions/:id/wait': 'jobs:read',
  'POST /executions/:id/cancel': 'jobs:cancel',
  'POST /executions/:id/resume': 'dlq:manage',

  'POST /worker/register': 'jobs:work',
  'POST /worker/claim': 'jobs:work',
  'POST /worker/heartbeat': 'jobs:work',
  'POST /worker/steps': 'jobs:work',
  'POST /worker/step': 'jobs:work',
  'POST /worker/settle': 'jobs:work',
  'POST /worker/task': 'jobs:work',
  'POST /worker/sign-off': 'jobs:work',

  'GET /admin/workers/lanes': 'workers:view',
  'PATCH /admin/workers/lanes/:name': 'workers:manage',
  'POST /admin/workers/lanes/:name/release': 'workers:manage',
  'GET /admin/workers/lanes/:name/slots': 'workers:view',
  'GET /admin/workers/status': 'workers:view',
  'POST /admin/workers/remote/:id/drain': 'workers:manage',
  'POST /admin/workers/jobs/:id/cancel': 'workers:manage',
  'PATCH /admin/workers/jobs/:id/priority': 'workers:manage',
  'GET /admin/builds': 'workers:view',
  'GET /admin/builds/:build/canary': 'workers:view',
  'POST /admin/builds/:build/drain': 'workers:manage',
  'POST /admin/builds/:build/resume': 'workers:manage',
  'GET /admin/job-types': 'workers:view',
  'GET /admin/job-types/:type': 'workers:view',
  'PUT /admin/job-types/:type': 'types:manage',
  'PATCH /admin/job-types/:type': 'workers:manage',
  'POST /admin/job-types/:type/release': 'types:manage',
  'POST /admin/job-types/:type/pause': 'workers:manage',
  'POST /admin/job-types/:type/resume': 'workers:manage',
  'POST /admin/job-types/:type/breaker': 'workers:manage',
  'PATCH /admin/job-types/:type/limits': 'workers:manage',
  'POST /admin/job-types/:type/limits/release': 'workers:manage',
  'GET /admin/dependencies': 'workers:view',
  'PATCH /admin/dependencies/:name': 'workers:manage',
  'POST /admin/dependencies/:name/release': 'workers:manage',
  'POST /admin/dependencies/:name/pause': 'workers:manage',
  'POST /admin/dependencies/:name/resume': 'workers:manage',
  'POST /admin/dependencies/:name/breaker': 'workers:manage',
  'GET /admin/job-types/:type/keys': 'workers:view',
  'POST /admin/job-types/:type/keys/pause': 'workers:manage',
  'POST /admin/job-types/:type/keys/resume': 'workers:manage',
  'PUT /admin/job-types/:type/keys/weight': 'workers:manage',
  'GET /admin/depth-limits': 'workers:view',
  'PUT /admin/depth-limits': 'workers:manage',
  'GET /admin/settings': 'workers:view',
  // A shorter retention deletes what people wanted to keep.
  'PUT /admin/settings': 'admin',

  'GET /admin/schedules': 'workers:view',
  'POST /admin/schedules': 'workers:manage',
  'POST /admin/schedules/prune': 'workers:manage',
  'GET /admin/schedules/:name': 'workers:view',
  'PATCH /admin/schedules/:name': 'workers:manage',
  'DELETE /admin/schedules/:name': 'workers:manage',
  'GET /admin/schedules/:name/preview': 'workers:view',
  'POST /admin/schedules/:name/pause': 'workers:manage',
  'POST /admin/schedules/:name/resume': 'workers:manage',
  'POST /admin/schedules/:name/reset': 'workers:manage',
  'POST /admin/schedules/:name/run': 'workers:manage',
  'POST /admin/schedules/:name/backfill': 'workers:manage',

  'GET /admin/dlq': 'workers:view',
  'GET /admin/dlq/:id': 'workers:view',
  'POST /admin/dlq/replay': 'dlq:manage',
  'POST /admin/dlq/discard': 'dlq:manage',
  'POST /admin/dlq/:id/replay': 'dlq:manage',
  'POST /admin/dlq/:id/discard': 'dlq:manage',

  'GET /admin/alerts': 'workers:view',
  'PUT /admin/alerts/rules/:name': 'workers:manage',
  'DELETE /admin/alerts/rules/:name': 'workers:manage',
  // An address may contain a secret, and a target learns what goes on.
  'GET /admin/alerts/targets': 'admin',
  'POST /admin/alerts/targets': 'admin',
  'DELETE /admin/alerts/targets/:id': 'admin',
  'POST /admin/alerts/targets/:id/test': 'admin',
  'POST /admin/alerts/targets/:id/rotate': 'admin',

  'GET /admin/keys': 'admin',
  'POST /admin/keys': 'admin',
  'POST /admin/certificates': 'admin',
  'POST /admin/keys/:id/rotate': 'admin',
  'DELETE /admin/keys/:id': 'admin',
  'DELETE /admin/sessions': 'admin',
  'GET /admin/roles': 'admin',
  'PUT /admin/roles/:name': 'admin',
  'DELETE /admin/roles/:name': 'admin',
  'GET /admin/audit': 'admin',
}

export function ruleFor(method: string, path: string): Rule {
  const rule = rules[`${method === 'HEAD' ? 'GET' : method} ${path}`]
  if (rule !== undefined) return rule
  const problem = `no rule says who may call ${method} ${path}; add one to the table of rules`
  throw new HoldfastError('invalid_configuration', problem, { field: path })
}
