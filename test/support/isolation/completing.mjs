// Types that end their jobs in a transaction, loaded by a thread or process.
// Not the whole package: every thread and process of an isolated type loads this file, and all of Holdfast takes 0.3 s of the processor.

import pg from 'pg'
import { defineType } from '../../../dist/job/type.js'

export const own = defineType({
  type: 'own',
  isolation: 'process',
  maxAttempts: 1,
  async run({ url, end }, ctx) {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query('begin')
    await client.query('insert into orders values ($1)', [ctx.job.id])
    await ctx.completeWith(client, { end })
    await client.query(end)
    await client.end()
  },
})

export const ours = defineType({
  type: 'ours',
  isolation: 'thread',
  maxAttempts: 1,
  run: (_, ctx) => ctx.completeWith(async () => 1),
})
