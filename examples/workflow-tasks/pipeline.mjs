// A workflow with two branches and a join. Every task notes in the application's table that it ran, in the commit that ends its job.
import { setTimeout as sleep } from 'node:timers/promises'
import { defineWorkflow, FatalError } from 'holdfast'

const takes = Number(process.env.TASK_MS ?? 20)

const noted = (task, result) => async (input, ctx) => {
  await sleep(takes)
  const { id: execution } = await ctx.execution()
  return ctx.completeWith(async (tx) => {
    await tx.query('insert into task_run (execution, task, worker) values ($1, $2, $3)', [execution, task, process.pid])
    return result(input, ctx)
  })
}

export const pipeline = defineWorkflow({
  name: 'pipeline',
  tasks(task) {
    const fetch = task('fetch', { run: noted('fetch', ({ words }) => ({ words, long: words > 500 })) })
    const parse = task('parse', { after: [fetch], run: noted('parse', ({ words }) => ({ sentences: Math.ceil(words / 12) })) })
    const translate = task('translate', {
      after: [fetch],
      if: '$.fetch.long == true',
      run: noted('translate', () => ({ language: 'fr' })),
    })
    return task('publish', {
      after: [parse, translate],
      run: noted('publish', async ({ number }, ctx) => {
        if (number === 13 && !process.env.REPAIRED) throw new FatalError('the press is broken')
        const { parse, translate } = await ctx.parents()
        return { sentences: parse.sentences, language: translate?.language ?? 'en' }
      }),
    })
  },
})

export const tables = 'create table task_run (execution uuid, task text, worker int, primary key (execution, task))'
