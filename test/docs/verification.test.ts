import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { blocks, docsPage, runExample } from '../support/docs-page.js'

test('the example of docs/verification.md runs as it stands', async () => {
  const [declared] = blocks(docsPage('verification.md'), 'js') as [string]
  const [sizeOf, resize] = [async (file: string) => file.length, async () => ({ bytes: 5 })]
  const { verify } = await runExample(`${declared}\nreturn resizeImage`, { defineType, sizeOf, resize })
  expect(verify).toMatchObject({ share: 0.05, afterMs: 600_000 })
  expect(await verify.check({ to: 'a.jpg' }, { bytes: 5 })).toBe(true)
  expect(await verify.check({ to: 'a.jpg' }, { bytes: 6 })).toBe(false)
})
