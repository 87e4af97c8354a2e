/** What the worker endpoints take. Whatever is not named here is refused by name. */

const text = (maxLength: number) => ({ type: 'string', minLength: 1, maxLength })
const job = { type: 'string', minLength: 36, maxLength: 36 }
const lease = { type: 'string', pattern: '^[0-9]{1,18}$' }
const duration = {
  anyOf: [
    { type: 'string', minLength: 1, maxLength: 30 },
    { type: 'number', minimum: 0, maximum: 1e12 },
  ],
}
const token = text(200)

function body(required: readonly string[], properties: Record<string, object>) {
  return {
    body: {
      type: 'object',
      additionalProperties: false,
      required: ['worker', ...required],
      properties: { worker: token, ...properties },
    },
  }
}

const said = {
  type: 'array',
  maxItems: 100,
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['job', 'lease'],
    properties: {
      job,
      lease,
      progress: { type: 'number', minimum: 0, maximum: 1 },
      note: { type: 'string', maxLength: 4_000 },
      lines: { type: 'array', maxItems: 1_000, items: { type: 'string', maxLength: 16_000 } },
      checkpoint: {},
    },
  },
}

const definition = {
  type: 'object',
  additionalProperties: false,
  required: ['type'],
  properties: {
    type: text(200),
    lane: text(63),
    priority: { type: 'integer', minimum: 0, maximum: 9 },
    max_attempts: { type: 'integer', minimum: 1, maximum: 20 },
    timeout: duration,
    backoff: {
      type: 'object',
      additionalProperties: false,
      properties: { base: duration, factor: { type: 'number', minimum: 1, maximum: 1_000 }, cap: duration, jitter: duration },
    },
  },
}

const result = {
  type: 'object',
  additionalProperties: false,
  required: ['job', 'lease', 'result'],
  properties: {
    job,
    lease,
    result: { enum: ['complete', 'fail', 'snooze', 'hand_back'] },
    ran_ms: { type: 'number', minimum: 0, maximum: 1e12 },
    error: {
      type: 'object',
      additionalProperties: false,
      required: ['message'],
      properties: {
        name: { type: 'string', maxLength: 2_000 },
        message: { type: 'string', maxLength: 100_000 },
        stack: { type: 'string', maxLength: 100_000 },
        code: { type: 'string', maxLength: 2_000 },
      },
    },
    fatal: { type: 'boolean' },
    timed_out: { type: 'boolean' },
    retry_after: duration,
    delay: duration,
    stop: { enum: ['type', 'key'] },
  },
}

export const register = {
  body: {
    type: 'object',
    additionalProperties: false,
    required: ['name', 'types'],
    properties: {
      name: text(200),
      types: { type: 'array', minItems: 1, maxItems: 1_000, items: { anyOf: [text(200), definition] } },
      host: text(200),
      pid: { type: 'integer', minimum: 0, maximum: 2_147_483_647 },
      version: text(100),
    },
  },
}

export const claim = body([], {
  types: { type: 'array', minItems: 1, maxItems: 1_000, items: text(200) },
  limit: { type: 'integer', minimum: 1, maximum: 100, default: 1 },
  lease: duration,
  wait: duration,
  holding: { type: 'array', maxItems: 10_000, items: lease },
})

export const heartbeat = body(['leases'], { leases: { type: 'array', maxItems: 10_000, items: lease }, lease: duration, said })

export const settle = body(['results'], { results: { type: 'array', minItems: 1, maxItems: 100, items: result }, said })

export const signOff = body([], {})
