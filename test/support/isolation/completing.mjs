// Types that end their jobs in a transaction, loaded by a thread or process.
import { defineType } from 'holdfast'
import pg from 'pg'

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
