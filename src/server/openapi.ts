import type { FastifyInstance, RouteOptions } from 'fastify'
import { problemAnswer } from '../api/common.js'
import { permissions } from '../api/permissions.js'
import type { Schema } from '../api/schema.js'
import { version } from '../version.js'
import { askedPath } from './prefix.js'
import { ruleFor } from './rules.js'

declare module 'fastify' {
  interface FastifySchema {
    /** What the route does, in one line. */
    summary?: string
  }
}

interface RouteSchemas {
  summary?: string
  params?: Schema
  querystring?: Schema
  body?: Schema
  response?: Record<string, Schema>
}

type Operation = Record<string, unknown>

/** Describes every route that has a schema, from that schema, as OpenAPI 3.1. Register it before the first route. */
export function describeRoutes(app: FastifyInstance): void {
  const paths: Record<string, Record<string, Operation>> = {}
  app.addHook('onRoute', (route) => {
    for (const method of [route.method].flat()) {
      if (method === 'HEAD' || !route.schema) continue
      const path = route.url.replace(/:(\w+)/g, '{$1}')
      paths[path] = { ...paths[path], [method.toLowerCase()]: operation(route, method) }
    }
  })
  const about = { summary: 'This description', response: { 200: {} } }
  app.get('/openapi.json', { schema: about }, async ({ raw }) => ({
    openapi: '3.1.0',
    info: {
      title: 'Holdfast',
      version,
      description: 'Background jobs on PostgreSQL that are never lost and never fail in silence.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: askedPath(raw).replace(/\/openapi\.json$/, '') || '/' }],
    security: [{ key: [] }],
    paths,
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'The key of a service' } },
      schemas: { Problem: problemAnswer },
      responses: {
        Problem: {
          description: 'Why it was not done',
          content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
        },
      },
    },
  }))
}

function operation(route: RouteOptions, method: string): Operation {
  const { summary, params, querystring, body, response = { 204: undefined } } = route.schema as RouteSchemas
  const rule = ruleFor(method, route.url)
  const parameters = [...parametersOf(params, 'path'), ...parametersOf(querystring, 'query')]
  return {
    operationId: operationId(method, route.url),
    ...(summary === undefined ? {} : { summary }),
    description: rule in permissions ? `Needs the permission \`${rule}\`.` : rule === 'open' ? 'Needs no key.' : 'Needs any key.',
    tags: [route.url.split('/')[1] || 'page'],
    ...(rule === 'open' ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body && {
      requestBody: { required: (body.required ?? []).length > 0, content: { 'application/json': { schema: body } } },
    }),
    responses: {
      ...Object.fromEntries(Object.entries(response).map(([status, schema]) => [status, answerOf(schema)])),
      '4XX': { $ref: '#/components/responses/Problem' },
      '5XX': { $ref: '#/components/responses/Problem' },
    },
  }
}

function parametersOf(schema: Schema | undefined, part: 'path' | 'query'): object[] {
  return Object.entries(schema?.properties ?? {}).map(([name, { description, ...field }]) => ({
    name,
    in: part,
    required: part === 'path' || (schema?.required ?? []).includes(name),
    ...(description === undefined ? {} : { description }),
    schema: field,
  }))
}

function answerOf(schema: Schema | undefined): object {
  if (!schema) return { description: 'Done' }
  const { contentMediaType = 'application/json', ...shown } = schema
  return { description: 'Done', content: { [contentMediaType]: { schema: shown } } }
}

/** `POST /jobs/:id/approve` is postJobsIdApprove: unique, because a route is. */
function operationId(method: string, path: string): string {
  const words = path.split(/[^a-zA-Z]+/).filter(Boolean)
  return method.toLowerCase() + words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('')
}
