import { defineType, FatalError, RetryableError } from 'holdfast'
import { runJob } from 'holdfast/testing'
import { expect, test } from 'vitest'
import { blocks, docsPage, runExample } from '../support/docs-page.js'
import { sourceFiles } from '../support/source.js'

const page = docsPage('handlers.md')

test('the example of docs/handlers.md runs as it stands, and each answer ends as the page says', async () => {
  let answer: object = {}
  const bank = { charge: async ({ key }: { key: string }) => ({ key, ...answer }) }
  const names = { defineType, FatalError, RetryableError, bank }
  const charge = await runExample(`${blocks(page, 'js')[0]}; return charge`, names)
  const runWith = async (given: object) => {
    answer = given
    const { status, result, nextInMs, log } = await runJob(charge, { order: 7, total: 30 })
    expect(log).toEqual([{ level: 'info', line: 'attempt 1 of 5' }])
    return { status, result, nextInMs }
  }
  expect(await runWith({ status: 200, receipt: 'r7' })).toMatchObject({ status: 'completed', result: { receipt: 'r7' } })
  expect(await runWith({ status: 402 })).toMatchObject({ status: 'dead' })
  expect(await runWith({ status: 429, retryAfter: '5s' })).toMatchObject({ status: 'scheduled', nextInMs: 5_000 })
  expect(await runWith({ status: 503 })).toMatchObject({ status: 'failed', nextInMs: 3_600_000 })
})

test('docs/handlers.md names everything that the context has', () => {
  const members = [
    ...(sourceFiles().find(({ path }) => path === 'job/run-context.ts')?.text ?? '').matchAll(
      /^ {2}abstract (?:readonly|get) (\w+)/gm,
    ),
  ].map(([, name]) => name)
  const rows = page
    .slice(page.indexOf('| `ctx.` |'))
    .split('\n')
    .filter((line) => line.startsWith('| `'))
  const named = rows.slice(1).flatMap((line) => [...(line.split('|')[1] as string).matchAll(/`(\w+)`/g)].map(([, name]) => name))
  expect(members.length).toBeGreaterThan(10)
  expect(named.sort()).toEqual(members.sort())
})
