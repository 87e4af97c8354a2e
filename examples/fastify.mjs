// A Fastify application that enqueues, runs its worker in the same process, and has the API and the dashboard under /holdfast.
import { fastify } from 'fastify'
import { createPlugin } from 'holdfast/server'
import { startWorker } from 'holdfast/worker'
import { holdfast, sendEmail } from './jobs.mjs'

export async function start() {
  const worker = await startWorker(holdfast, [sendEmail])
  const app = fastify()
  app.post('/welcome', async ({ body }, reply) => reply.status(202).send(await holdfast.enqueue(sendEmail, { to: body.to })))
  await app.register(createPlugin(holdfast, { adminKey: process.env.ADMIN_KEY, worker }), { prefix: '/holdfast' })
  app.addHook('onClose', () => worker.stop())
  return app
}
