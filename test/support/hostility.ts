/** A request nobody means well with. */
export interface HostileRequest {
  method: string
  url: string
  headers: Record<string, string>
  payload?: string
}

/** What no answer may show: a stack, or SQL. */
export const leak = /\bat [\w.<>]+ \(|node_modules|\.js:\d+|select .* from|holdfast\.\w+\(|relation "|syntax error|SQLSTATE|pg_/i

const values: unknown[] = [
  null, true, false, 0, -1, 1e9, 1e308, 0.1, '', '..', 'NaN', '\0', '\ud800', 'x'.repeat(300), "'; drop table holdfast.bodies; --",
  '{}', [], {}, [[[[]]]], { $gt: '' }, { constructor: { prototype: { x: 1 } } }, '2030-01-01T00:00:00Z', '2030-02-31T00:00:00Z',
  '9999999d', '1h', '0', 'greet', ['greet'], '٣', '😀', '\u202e', '$\u007bjndi:ldap://x}', '01900000-0000-7000-8000-00000000dead',
  Array(200).fill('a'), 'interactive', 'exhausted', 'complete', 'fail', 'admin', ['jobs:read'], ['viewer'], '17', ['17'], 5, 1,
] // biome-ignore format: a list
const names = [
  'type', 'payload', 'id', 'priority', 'max_attempts', 'delay', 'run_at', 'idempotency_key', 'concurrency_key', 'approval', 'unique',
  'jobs', 'why', 'slots', 'worker_slots', 'poll', 'lease', 'enabled', 'ageing', 'unsafe', 'action', 'rate', 'max_running', 'breaker',
  'service', 'roles', 'types', 'rate_limit', 'expires', 'permissions', 'grace', 'quorum', 'key', 'by', 'count', 'per', '__proto__', 'x',
  'filter', 'dry_run', 'at_most', 'worker', 'leases', 'results', 'reports', 'limit', 'holding', 'name', 'result', 'error', 'checkpoint',
  'scope', 'soft', 'hard', 'oldest', 'weight', 'confirm', 'subject', 'sensitive',
] // biome-ignore format: a list
const queryNames = [
  'limit', 'cursor', 'status', 'type', 'owner', 'payload', 'created_after', 'created_before', 'timeout', 'why', 'service', 'actor',
  'target', 'reason', 'error', 'died_from', 'forget', 'lane', 'concurrency', 'x',
] // biome-ignore format: a list
const mediaTypes = ['application/json', 'application/json', 'application/json', 'text/plain', 'application/json; charset=utf-16']

/** What each path wants at least, so that some of what is sent gets past the door. */
const wanted: Record<string, (known: Known) => object> = {
  '/jobs': () => ({ type: 'greet', payload: {} }),
  '/jobs/bulk': () => ({ jobs: [{ type: 'greet', payload: {} }] }),
  '/jobs/:id/signals': () => ({ name: 'go', payload: {} }),
  '/batches': () => ({ jobs: [{ type: 'greet', payload: {} }], on_complete: { type: 'greet', payload: {} } }),
  '/batches/:id/jobs': () => ({ jobs: [{ type: 'greet', payload: {} }] }),
  '/executions': () => ({ workflow: 'greeting', input: {} }),
  '/executions/:id/rerun': () => ({ from: 'greet' }),
  '/session': ({ adminKey }) => ({ key: adminKey }),
  '/admin/settings': () => ({ name: 'max_snoozes', value: 5 }),
  '/admin/depth-limits': () => ({ scope: 'type', name: 'greet', hard: 1_000_000_000 }),
  '/admin/job-types/:type/keys/pause': () => ({ key: 'k' }),
  '/admin/job-types/:type/keys/resume': () => ({ key: 'k' }),
  '/admin/job-types/:type/keys/weight': () => ({ key: 'k', weight: 2 }),
  '/admin/certificates': () => ({ subject: 'x', service: 'x', roles: ['viewer'] }),
  '/worker/register': () => ({ name: 'w', types: ['greet'] }),
  '/worker/claim': ({ worker }) => ({ worker, limit: 1 }),
  '/worker/heartbeat': ({ worker }) => ({ worker, leases: [] }),
  '/worker/steps': ({ worker, job }) => ({ worker, job, lease: '1' }),
  '/worker/step': ({ worker, job }) => ({ worker, job, lease: '1', name: 'one', kind: 'step' }),
  '/worker/settle': ({ worker, job }) => ({ worker, results: [{ job, lease: '1', result: 'complete' }] }),
  '/worker/task': ({ worker, job }) => ({ worker, job, lease: '1' }),
  '/worker/sign-off': () => ({ worker: '1.x' }),
  '/admin/dlq/replay': () => ({ filter: { type: 'greet' } }),
  '/admin/dlq/discard': () => ({ filter: { all: true } }),
}

interface Known {
  adminKey: string
  job: string
  worker: string
}

/** Makes hostile requests, the same ones for the same seed: `String(hostility)` names what is needed to have one again. */
export class Hostility {
  made = 0
  readonly #seed: number
  readonly #routes: readonly string[]
  readonly #known: Known
  #state: number

  constructor(seed: number, routes: readonly string[], known: Known) {
    this.#seed = seed
    this.#state = seed
    this.#known = known
    // A key that is revoked or a wait of a minute would only be in the way of all the others.
    this.#routes = routes.filter((route) => !/\/stream|\/wait|DELETE .*keys/.test(route))
  }

  next(): HostileRequest {
    this.made += 1
    if (this.made % 1_000 === 500) return this.#largest()
    const [method, path] = this.#one(this.#routes).split(' ') as [string, string]
    const address = path.replace(/:\w+/g, () => this.#text())
    const query = this.#number() < 0.4 ? `?${this.#one(queryNames)}=${this.#text()}&${this.#one(queryNames)}=${this.#text()}` : ''
    const key = this.#number() < 0.93 ? this.#known.adminKey : this.#one(['x', 'hf_', 'é', this.#known.adminKey.toUpperCase()])
    const request = { method, url: address + query, headers: { authorization: `Bearer ${key}` } }
    if (method === 'GET' || this.#number() < 0.1) return request
    const headers = { ...request.headers, 'content-type': this.#one(mediaTypes) }
    return { ...request, headers, payload: this.#body(path) }
  }

  toString(): string {
    return `seed ${this.#seed}, request ${this.made}`
  }

  /** As much as the door lets in, of what takes a parser longest: the server must not begin to parse it. */
  #largest(): HostileRequest {
    const headers = { authorization: `Bearer ${this.#known.adminKey}`, 'content-type': 'application/json' }
    return { method: 'POST', url: '/jobs/bulk', headers, payload: '['.repeat(8_000_000) }
  }

  #body(path: string): string {
    const luck = this.#number()
    if (luck < 0.05) return '\xff\xfe'
    if (luck < 0.06) return JSON.stringify({ type: 'greet', payload: 'a'.repeat(140_000) })
    if (luck < 0.07) return `${'['.repeat(60_000)}${']'.repeat(60_000)}`
    const made = this.#value()
    const whole =
      luck < 0.8 && typeof made === 'object' && !Array.isArray(made) ? { ...wanted[path]?.(this.#known), ...made } : made
    const text = JSON.stringify(whole)
    return luck < 0.12 ? text.slice(0, -1) : text
  }

  #value(depth = 0): unknown {
    if (depth > 2 || this.#number() < 0.4) return this.#one(values)
    const count = Math.floor(this.#number() * 4)
    return Object.fromEntries(Array.from({ length: count }, () => [this.#one(names), this.#value(depth + 1)]))
  }

  #text(): string {
    if (this.#number() < 0.5) return this.#one(['..%2f..', '%00', '%zz', this.#known.job, 'greet', 'interactive', '1', '999'])
    const value = this.#one(values)
    const text = typeof value === 'string' ? value : JSON.stringify(value)
    return encodeURIComponent(text.slice(0, 500).replace(/[\ud800-\udfff]/g, ''))
  }

  #one<Item>(list: readonly Item[]): Item {
    return list[Math.floor(this.#number() * list.length)] as Item
  }

  /** From 0 to 1 (mulberry32). */
  #number(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}
