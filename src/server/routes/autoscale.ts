import type { FastifyInstance } from 'fastify'
import { number, numberOrNull } from '../../api/common.js'
import { answer, type Of, object } from '../../api/schema.js'
import { autoscale, usual } from '../../flow/autoscale.js'
import type { Holdfast } from '../../holdfast.js'
import { insideOf } from '../../inside.js'
import { toMilliseconds } from '../../job/duration.js'
import { refused } from '../../job/refused.js'

const query = object({
  lane: { type: 'string', minLength: 1, maxLength: 63, description: 'the name of a lane' },
  concurrency: {
    type: 'integer',
    minimum: 1,
    maximum: 10_000,
    default: usual.concurrency,
    description: 'how many jobs one worker runs at once, 1 to 10000',
  },
  target: {
    type: 'string',
    maxLength: 20,
    default: '60s',
    description: 'within what time what waits is to be done, such as 60s',
  },
  headroom: {
    type: 'integer',
    minimum: 0,
    maximum: 1_000,
    default: usual.headroom * 100,
    description: 'how many more workers than are needed right now, in percent of them',
  },
  minimum: {
    type: 'integer',
    minimum: 0,
    maximum: 10_000,
    default: 0,
    description: 'how many workers there are to be in any case',
  },
})

const lane = answer({
  workers: number,
  waiting: number,
  running: number,
  ended_per_s: number,
  drain_s: numberOrNull,
  live_workers: number,
})
const wanted = answer({
  workers: number,
  lanes: { type: 'object', description: 'by the name of the lane', additionalProperties: lane },
})

const targetMs = { least: 1_000, most: 86_400_000 }

/** Tells an autoscaler how many workers are needed. The shape is for KEDA's metrics-api scaler, `valueLocation: workers`. */
export function autoscaleRoutes(app: FastifyInstance, holdfast: Holdfast): void {
  const { store } = insideOf(holdfast)
  app.get<{ Querystring: Of<typeof query> }>(
    '/autoscale',
    {
      schema: {
        summary: 'How many workers the lanes want, and in what time they drain',
        querystring: query,
        response: { 200: wanted },
      },
    },
    async (request, reply) => {
      const {
        lane,
        concurrency = usual.concurrency,
        target = '60s',
        headroom = usual.headroom * 100,
        minimum = 0,
      } = request.query
      const ms = toMilliseconds(target, 'target')
      if (ms < targetMs.least || ms > targetMs.most) {
        throw refused('target', `is ${target}; it must lie between 1s and 1d`)
      }
      const loads = await autoscale(store, {
        concurrency,
        targetMs: ms,
        headroom: headroom / 100,
        ...(lane === undefined ? {} : { lane }),
      })
      const lanes = [...loads].map(([name, load]) => [
        name,
        {
          workers: load.workers,
          waiting: load.waiting,
          running: load.running,
          ended_per_s: load.endedPerSecond,
          drain_s: load.drainSeconds,
          live_workers: load.liveWorkers,
        },
      ])
      const workers = [...loads.values()].reduce((sum, load) => sum + load.workers, 0)
      return reply
        .header('cache-control', 'no-store')
        .send({ workers: Math.max(workers, minimum), lanes: Object.fromEntries(lanes) })
    },
  )
}
