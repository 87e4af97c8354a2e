// The same with Express. Holdfast is mounted before express.json(), because it reads bodies itself.
import express from 'express'
import { createHandler } from 'holdfast/server'
import { startWorker } from 'holdfast/worker'
import { holdfast, sendEmail } from './jobs.mjs'

export async function start(port) {
  const worker = await startWorker(holdfast, [sendEmail])
  const jobs = createHandler(holdfast, { adminKey: process.env.ADMIN_KEY, worker })
  const app = express()
  app.use('/holdfast', jobs)
  app.use(express.json())
  app.post('/welcome', async (request, response) => {
    response.status(202).json(await holdfast.enqueue(sendEmail, { to: request.body.to }))
  })
  const server = app.listen(port, '127.0.0.1')
  const stop = async () => {
    await jobs.close()
    server.close()
    await worker.stop()
  }
  return { server, stop }
}
