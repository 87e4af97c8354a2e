import type { FastifyInstance } from 'fastify'
import type { KeyFields } from '../../access/access.js'
import {
  type AuditQuery,
  auditAnswer,
  auditQuery,
  type CertificateBody,
  certificateBody,
  type KeyBody,
  keyBody,
  keyParams,
  keyAnswer as keySchema,
  keysAnswer,
  keysQuery,
  newKeyAnswer,
  type RoleBody,
  roleAnswer,
  roleBody,
  roleParams,
  rolesAnswer,
  rotateBody,
} from '../../api/admin.js'
import { whyQuery } from '../../api/jobs.js'
import { endedAnswer, sessionsQuery } from '../../api/session.js'
import type { Holdfast } from '../../holdfast.js'
import { actor } from '../auth.js'
import type { Callers } from '../callers.js'
import type { Reading } from '../reading.js'
import { overHttp } from '../spelling.js'
import { roleAnswer as allowed, auditPage } from './access-answers.js'
import { keyAnswer } from './admin-answers.js'
import { theirs } from './job-request.js'

interface Why {
  Querystring: { why?: string }
}

/** Keys, roles, and the audit log, which can only be read. */
export function adminAccessRoutes(app: FastifyInstance, holdfast: Holdfast, callers: Callers, reading: Reading): void {
  const { access } = holdfast
  // A change of keys or roles takes effect in this process at once.
  const changed = <Answer>(answer: Answer): Answer => {
    callers.forget()
    return answer
  }

  app.get<{ Querystring: { service?: string } }>(
    '/admin/keys',
    { schema: { summary: 'Keys, without what is secret', querystring: keysQuery, response: { 200: keysAnswer } } },
    async (request, reply) =>
      reply.header('cache-control', 'no-store').send({ keys: (await access.keys(request.query.service)).map(keyAnswer) }),
  )

  app.post<{ Body: KeyBody }>(
    '/admin/keys',
    {
      schema: {
        summary: 'Make a key; it is shown in this answer and never again',
        body: keyBody,
        response: { 201: newKeyAnswer },
      },
    },
    async (request, reply) => {
      const { why, ...fields } = request.body
      const { key, ...made } = await access.createKey(theirs(fields) as KeyFields, actor(request, why)).catch((error) => {
        throw overHttp(error)
      })
      return reply
        .status(201)
        .header('cache-control', 'no-store')
        .send(changed({ ...keyAnswer(made), key }))
    },
  )

  app.post<{ Body: CertificateBody }>(
    '/admin/certificates',
    {
      schema: {
        summary: 'Let the certificates of a subject stand for a service; they are listed and revoked as keys are',
        body: certificateBody,
        response: { 201: keySchema },
      },
    },
    async (request, reply) => {
      const { why, subject, ...fields } = request.body
      const trusted = access.trustCertificate(subject, theirs(fields) as KeyFields, actor(request, why)).catch((error) => {
        throw overHttp(error)
      })
      return reply
        .status(201)
        .header('cache-control', 'no-store')
        .send(changed(keyAnswer(await trusted)))
    },
  )

  app.post<{ Params: { id: string }; Body: { grace?: string | number; why?: string } }>(
    '/admin/keys/:id/rotate',
    {
      schema: {
        summary: 'Make a second key like this one, which lives on for a while',
        params: keyParams,
        body: rotateBody,
        response: { 201: newKeyAnswer },
      },
    },
    async (request, reply) => {
      const { grace, why } = request.body
      const options = grace === undefined ? {} : { grace }
      const { key, ...made } = await access.rotateKey(Number(request.params.id), actor(request, why), options)
      return reply
        .status(201)
        .header('cache-control', 'no-store')
        .send(changed({ ...keyAnswer(made), key }))
    },
  )

  app.delete<Why & { Params: { id: string } }>(
    '/admin/keys/:id',
    { schema: { summary: 'Revoke a key', params: keyParams, querystring: whyQuery, response: { 200: keySchema } } },
    async (request) => {
      return changed(keyAnswer(await access.revokeKey(Number(request.params.id), actor(request, request.query.why))))
    },
  )

  app.delete<{ Querystring: { person: string; why?: string } }>(
    '/admin/sessions',
    {
      schema: {
        summary: 'End every session of a person who signed in through the provider',
        querystring: sessionsQuery,
        response: { 200: endedAnswer },
      },
    },
    async (request) => {
      const { person, why } = request.query
      return changed({ person, ended: await access.sessions.endOf(person, actor(request, why)) })
    },
  )

  app.get('/admin/roles', { schema: { summary: 'Every role and what it allows', response: { 200: rolesAnswer } } }, async () => ({
    roles: (await access.roles()).map(allowed),
  }))

  app.put<{ Params: { name: string }; Body: RoleBody }>(
    '/admin/roles/:name',
    {
      schema: {
        summary: 'Make a role of your own, or change it',
        params: roleParams,
        body: roleBody,
        response: { 200: roleAnswer },
      },
    },
    async (request) => {
      const { permissions, why } = request.body
      const { name } = request.params
      await access.setRole(name, permissions, actor(request, why))
      return changed({ name, permissions, built_in: false })
    },
  )

  app.delete<Why & { Params: { name: string } }>(
    '/admin/roles/:name',
    { schema: { summary: 'Remove a role that no key has', params: roleParams, querystring: whyQuery } },
    async (request, reply) => {
      await access.dropRole(request.params.name, actor(request, request.query.why))
      return reply.status(204).send(changed(undefined))
    },
  )

  app.get<{ Querystring: AuditQuery }>(
    '/admin/audit',
    { schema: { summary: 'What operators did, the latest first', querystring: auditQuery, response: { 200: auditAnswer } } },
    async (request, reply) => {
      const page = await reading.forCaller(request, (reader) => auditPage(reader, request.query))
      return reply.header('cache-control', 'no-store').send(page)
    },
  )
}
