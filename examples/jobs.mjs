// What producers and workers share: the types, and one Holdfast for the process.
import { defineType, Holdfast } from 'holdfast'
import { z } from 'zod'

export const sendEmail = defineType({
  type: 'send_email',
  payload: z.object({ to: z.email() }),
  run: async ({ to }) => ({ sentTo: to }),
})

export const holdfast = new Holdfast({ connectionString: process.env.DATABASE_URL })
