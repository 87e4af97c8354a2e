import type { FastifyInstance } from 'fastify'
import type { TargetFields } from '../../alerts/alerts.js'
import { rotateBody } from '../../api/admin.js'
import {
  alertsAnswer,
  newTargetAnswer,
  type RuleBody,
  ruleBody,
  ruleParams,
  ruleAnswer as ruleSchema,
  type TargetBody,
  targetBody,
  targetParams,
  targetsAnswer,
  testAnswer,
} from '../../api/alerts.js'
import { whyBody } from '../../api/common.js'
import { whyQuery } from '../../api/jobs.js'
import type { Holdfast } from '../../holdfast.js'
import { actor } from '../auth.js'
import { overHttp } from '../spelling.js'
import { ruleAnswer, ruleFields, targetAnswer, alertsAnswer as troubleAnswer } from './alert-answers.js'
import { theirs } from './job-request.js'

interface Why {
  Querystring: { why?: string }
}

/** Firing alerts, alert rules and targets. */
export function adminAlertRoutes(app: FastifyInstance, holdfast: Holdfast): void {
  const { alerts } = holdfast

  app.get(
    '/admin/alerts',
    { schema: { summary: 'The trouble there is, and the rules that say what that is', response: { 200: alertsAnswer } } },
    async (_request, reply) => {
      return reply.header('cache-control', 'no-store').send(await troubleAnswer(holdfast))
    },
  )

  app.put<{ Params: { name: string }; Body: RuleBody }>(
    '/admin/alerts/rules/:name',
    { schema: { summary: 'Make a rule, or change it', params: ruleParams, body: ruleBody, response: { 200: ruleSchema } } },
    async (request) => {
      const { why, ...fields } = request.body
      return ruleAnswer(
        await alerts.setRule(request.params.name, ruleFields(fields), actor(request, why)).catch((error) => {
          throw overHttp(error)
        }),
      )
    },
  )

  app.delete<Why & { Params: { name: string } }>(
    '/admin/alerts/rules/:name',
    { schema: { summary: 'Remove a rule', params: ruleParams, querystring: whyQuery } },
    async (request, reply) => {
      await alerts.dropRule(request.params.name, actor(request, request.query.why))
      return reply.status(204).send()
    },
  )

  app.get(
    '/admin/alerts/targets',
    { schema: { summary: 'Who is notified about trouble, without what is secret', response: { 200: targetsAnswer } } },
    async (_request, reply) => {
      return reply.header('cache-control', 'no-store').send({ targets: (await alerts.targets()).map(targetAnswer) })
    },
  )

  app.post<{ Body: TargetBody }>(
    '/admin/alerts/targets',
    {
      schema: {
        summary: 'Call an address about trouble; its secret is shown in this answer and never again',
        body: targetBody,
        response: { 201: newTargetAnswer },
      },
    },
    async (request, reply) => {
      const { why, ...fields } = request.body
      return reply
        .status(201)
        .header('cache-control', 'no-store')
        .send(
          await alerts.addTarget(theirs(fields) as TargetFields, actor(request, why)).catch((error) => {
            throw overHttp(error)
          }),
        )
    },
  )

  app.post<{ Params: { id: string }; Body: { grace?: string | number; why?: string } }>(
    '/admin/alerts/targets/:id/rotate',
    {
      schema: {
        summary: 'Sign with a new secret, shown in this answer and never again; the old one signs too for a while',
        params: targetParams,
        body: rotateBody,
        response: { 201: newTargetAnswer },
      },
    },
    async (request, reply) => {
      const { grace, why } = request.body
      const options = grace === undefined ? {} : { grace }
      return reply
        .status(201)
        .header('cache-control', 'no-store')
        .send(await alerts.rotateSecret(Number(request.params.id), actor(request, why), options))
    },
  )

  app.delete<Why & { Params: { id: string } }>(
    '/admin/alerts/targets/:id',
    { schema: { summary: 'Call an address no more', params: targetParams, querystring: whyQuery } },
    async (request, reply) => {
      await alerts.removeTarget(Number(request.params.id), actor(request, request.query.why))
      return reply.status(204).send()
    },
  )

  app.post<{ Params: { id: string }; Body: { why?: string } }>(
    '/admin/alerts/targets/:id/test',
    {
      schema: {
        summary: 'Call an address as if there were trouble; answers with the job that does so',
        params: targetParams,
        body: whyBody,
        response: { 202: testAnswer },
      },
    },
    async (request, reply) =>
      reply.status(202).send(await alerts.testTarget(Number(request.params.id), actor(request, request.body.why))),
  )
}
