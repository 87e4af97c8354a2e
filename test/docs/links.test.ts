/** Links between pages: the file is there, and so is the heading that an anchor names. */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { filesUnder, repository } from '../support/source.js'

const folders = ['docs', 'src', 'examples', 'model', 'chaos', 'bench', 'deploy']
const pages = [
  ...['README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md', 'UPGRADING.md'].map((name) =>
    join(repository, name),
  ),
  ...folders.flatMap((folder) => filesUnder(join(repository, folder), '.md')).filter((path) => !path.includes('node_modules')),
]
const textOf = (path: string) => readFileSync(path, 'utf8')
const withoutCode = (text: string) => text.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, '')

/** Anchors of the headings of a page, as GitHub makes them: a heading that stands twice gets a number. */
function anchorsOf(text: string): Set<string> {
  const seen = new Map<string, number>()
  const headings = text.replaceAll(/^```[\s\S]*?^```/gm, '').matchAll(/^#{1,6} +(.+?) *$/gm)
  return new Set(
    [...headings].map(([, heading]) => {
      const words = (heading as string).replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase()
      const anchor = words.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-')
      const times = seen.get(anchor) ?? 0
      seen.set(anchor, times + 1)
      return times === 0 ? anchor : `${anchor}-${times}`
    }),
  )
}

/** What is wrong with a link; undefined where nothing is. */
function wrong(page: string, link: string): string | undefined {
  const [target = '', anchor] = link.split('#')
  const path = target === '' ? page : join(dirname(page), target)
  if (!existsSync(path)) return 'there is no such file'
  if (anchor === undefined || statSync(path).isDirectory() || !path.endsWith('.md')) return undefined
  return anchorsOf(textOf(path)).has(anchor) ? undefined : 'that page has no such heading'
}

const linksOf = (text: string) =>
  [...withoutCode(text).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map(([, link]) => link as string)

test('every link leads to a file that is there, and to a heading of it', () => {
  const all = pages.flatMap((page) => linksOf(textOf(page)).map((link) => ({ page, link })))
  expect(all.length).toBeGreaterThan(200)
  expect(all.flatMap(({ page, link }) => (wrong(page, link) ? [`${page}: ${link}: ${wrong(page, link)}`] : []))).toEqual([])
})

test('a link to no file, to no heading, or to another letter case would be found', () => {
  const readme = join(repository, 'README.md')
  const links = ['docs/nothing.md', 'docs/errors.md#no_such_error', '#Use-it']
  expect(links.filter((link) => wrong(readme, link) === undefined)).toEqual([])
  expect(wrong(readme, 'docs/install.md#bundlers')).toBeUndefined()
})

test('every page of docs/ is reached from the index of the docs', () => {
  const index = join(repository, 'docs', 'README.md')
  const reached = new Set(linksOf(textOf(index)).map((link) => join(dirname(index), link.split('#')[0] as string)))
  const lost = filesUnder(join(repository, 'docs'), '.md').filter((path) => path !== index && !reached.has(path))
  expect(lost).toEqual([])
})
