import { expect } from 'vitest'
import type { Schema } from '../../src/api/schema.js'
import { check } from '../../src/server/validate.js'
import { eventually } from './facts.js'
import type { Serving } from './serving.js'

interface Description {
  paths: Record<string, Record<string, { responses: Record<string, { content?: Record<string, { schema: Schema }> }> }>>
}

/**
 * Calls the server and holds each answer to what /openapi.json says of it; problems to what every problem has.
 * Who `comesBack` asks again for what is refused because the key has used up its requests for now.
 */
export async function contractOf(serving: Serving, { comesBack = false } = {}) {
  const description = (await (await serving.call('GET', '/openapi.json')).json()) as Description
  const operationOf = (method: string, path: string) => {
    const [bare = ''] = path.split('?')
    const fits = (template: string) => new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(bare)
    // The one with the fewest parameters is meant: /jobs/bulk and not /jobs/{id}.
    const [template] = Object.keys(description.paths)
      .filter(fits)
      .sort((a, b) => a.split('{').length - b.split('{').length)
    return template === undefined ? undefined : description.paths[template]?.[method.toLowerCase()]
  }
  return async (method: string, path: string, body?: unknown, key?: string | null) => {
    // Lists are paid for by the time they took, which on a busy machine is soon too long; who has nothing left comes back.
    const response = await eventually(async () => {
      const answered = await serving.call(method, path, body, key)
      return !(comesBack && method === 'GET' && answered.status === 429) && answered
    })
    const text = await response.text()
    // biome-ignore lint/suspicious/noExplicitAny: whatever the server answers is what the test looks at
    const answer: any = text === '' ? undefined : JSON.parse(text)
    if (response.status >= 400) {
      expect(response.headers.get('content-type')).toContain('application/problem+json')
      check(problem, answer, 'answer')
      expect(answer.status).toBe(response.status)
    } else {
      const operation = operationOf(method, path)
      expect(operation?.responses, `${method} ${path} is described`).toHaveProperty(String(response.status))
      const schema = operation?.responses[response.status]?.content?.['application/json']?.schema
      if (schema) check(schema, answer, 'answer')
    }
    return { status: response.status, headers: response.headers, body: answer }
  }
}

const text = { type: 'string' } as const
const problem: Schema = {
  type: 'object',
  properties: { type: text, code: text, title: text, status: { type: 'integer' }, detail: text, field: text, job_id: text },
  required: ['type', 'code', 'title', 'status', 'detail'],
  additionalProperties: false,
}

export type Contract = Awaited<ReturnType<typeof contractOf>>
