import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))
const text = readFileSync(join(root, 'docs/dashboard.md'), 'utf8')
const pictures = readdirSync(join(root, 'docs/screenshots'))

test('docs/dashboard.md shows every picture there is, and no other', () => {
  const shown = [...text.matchAll(/\(screenshots\/([^)]+)\)/g)].map(([, name]) => name as string)
  expect([...new Set(shown)].sort()).toEqual([...pictures].sort())
})

test('every page of the menu stands in docs/dashboard.md, by its title', () => {
  const titles = [...readFileSync(join(root, 'dashboard/src/pages/index.tsx'), 'utf8').matchAll(/menu\('\w+', '([^']+)'/g)]
  expect(titles.length).toBeGreaterThan(10)
  for (const [, title] of titles) expect(text).toContain(`[${title}](screenshots/`)
})

test('the pictures are less than three megabytes together', () => {
  const bytes = pictures.map((name) => statSync(join(root, 'docs/screenshots', name)).size)
  expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThan(3_000_000)
})
