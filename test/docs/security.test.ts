import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const root = new URL('../../', import.meta.url)
const read = (name: string) => readFileSync(new URL(name, root), 'utf8')

test('SECURITY.md says what is defended, what is not and how to report; README leads to it, and its links lead somewhere', () => {
  const page = read('SECURITY.md')
  expect([...page.matchAll(/^## (.*)$/gm)].map(([, title]) => title)).toEqual([
    'How to report',
    'What is defended',
    'What is not defended',
  ])
  const links = [...page.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, link]) => link as string)
  expect(links.length).toBeGreaterThan(0)
  expect(links.filter((link) => !existsSync(new URL(link, root)))).toEqual([])
  expect(read('README.md')).toContain('](SECURITY.md)')
})
