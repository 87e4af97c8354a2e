import type { FastifyInstance, FastifyRequest } from 'fastify'
import { onlyOwn } from '../../access/caller.js'
import { executionAnswer, executionParams } from '../../api/executions.js'
import { waitQuery } from '../../api/jobs.js'
import { HoldfastError } from '../../errors.js'
import type { ExecutionOverview } from '../../workflow/story.js'
import { callerOf } from '../auth.js'
import { type Ends, waitOf } from '../ends.js'
import type { Reading } from '../reading.js'
import { overviewAnswer } from './execution-answers.js'

interface OneExecution {
  Params: { id: string }
}

/** The route to wait for an execution, as one waits for a job. */
export function executionWaitRoute(app: FastifyInstance, { reader }: Reading, ends: Ends): void {
  app.get<OneExecution & { Querystring: { timeout?: string } }>(
    '/executions/:id/wait',
    {
      exposeHeadRoute: false,
      schema: {
        summary: 'Wait until an execution has ended, or for a time; answers with the execution either way',
        params: executionParams,
        querystring: waitQuery,
        response: { 200: executionAnswer },
      },
    },
    async (request, reply) => {
      const ms = waitOf(request.query.timeout)
      const { id, status } = await visible(request)
      if (status === 'running') await ends.wait(request, reply.raw, id, ms, (now) => now !== 'running')
      return reply.header('cache-control', 'no-store').send(overviewAnswer(await visible(request)))
    },
  )

  /** To a caller that sees only its own, an execution of another service does not exist. */
  async function visible(request: FastifyRequest<OneExecution>): Promise<ExecutionOverview> {
    const owner = onlyOwn(callerOf(request))
    const found = await reader.executions.overview(request.params.id, owner === undefined ? {} : { owner })
    if (!found) throw new HoldfastError('not_found', `no execution ${request.params.id} is kept`, { field: 'id' })
    return found
  }
}
