// Handlers made of steps, in every place a handler can run. Each run of a step is a line in the file the payload names.
import { appendFileSync, existsSync } from 'node:fs'
// Not the whole package: every thread and process of an isolated type loads this file, and all of Holdfast takes 0.3 s of the processor.
import { defineType } from '../../dist/job/type.js'

async function run({ file, failAt }, ctx) {
  const say = (line) => appendFileSync(file, `${line}\n`)
  const one = await ctx.step('one', () => {
    say('one')
    return { n: 1 }
  })
  const both = await Promise.all(
    [2, 3].map((n) =>
      ctx.step('many', () => {
        say(`many ${n}`)
        return n
      }),
    ),
  )
  if (failAt === ctx.job.attempt) throw new Error('failed between two steps')
  await ctx.sleep('200ms')
  const key = await ctx.once('effect', (key) => {
    say('effect')
    return key
  })
  const signal = await ctx.waitFor('go', { timeout: '1h' })
  return { one, both, key, signal }
}

/** Sleeps, until a file says that it was deployed without. */
async function runChanged({ file }, ctx) {
  if (!existsSync(file)) await ctx.sleep('1h')
  return 'awake'
}

export const types = [
  ...['inline', 'thread', 'process'].map((isolation) =>
    defineType({ type: `steps_${isolation}`, isolation, backoff: { base: 1, cap: 1, jitter: 0 }, run }),
  ),
  defineType({ type: 'steps_changed', isolation: 'thread', backoff: { base: '1h', cap: '1h' }, run: runChanged }),
]
