import type { FastifyInstance } from 'fastify'
import { type DoctorQuery, doctorAnswer, doctorQuery } from '../../api/doctor.js'
import type { Holdfast } from '../../holdfast.js'

/** The check-up, from where this server stands: its clock, and its way to the database. */
export function doctorRoutes(app: FastifyInstance, holdfast: Holdfast): void {
  // It opens connections to try notifications out, so requests that come meanwhile share its answer.
  const running = new Map<string, Promise<unknown>>()
  app.get<{ Querystring: DoctorQuery }>(
    '/doctor',
    {
      schema: {
        summary: 'What is wrong with the server, the schema and the fleet, and what to do about each',
        querystring: doctorQuery,
        response: { 200: doctorAnswer },
      },
    },
    async (request, reply) => {
      const { transaction } = request.query
      const asked = transaction ?? ''
      const answer = running.get(asked) ?? holdfast.doctor(transaction === undefined ? {} : { transaction })
      running.set(asked, answer)
      try {
        return reply.header('cache-control', 'no-store').send(await answer)
      } finally {
        running.delete(asked)
      }
    },
  )
}
