// The same with Express, which comes as an argument. Holdfast is mounted before express.json(), because it reads bodies itself.
import { createHandler } from 'holdfast/server'
import { holdfast, sendEmail } from './jobs.mjs'

export function routes(express, app) {
  const jobs = createHandler(holdfast, { adminKey: process.env.ADMIN_KEY })
  app.use('/holdfast', jobs)
  app.use(express.json())
  app.post('/welcome', async (request, response) => {
    response.status(202).json(await holdfast.enqueue(sendEmail, { to: request.body.to }))
  })
  return jobs
}
