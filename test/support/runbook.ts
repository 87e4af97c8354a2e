import { expect } from 'vitest'
import { typing } from './cli.js'
import { blocks, docsPage } from './docs-page.js'

/** The blocks of commands of each chapter of docs/runbooks.md. */
export const chapters = new Map(
  docsPage('runbooks.md')
    .split(/^## /m)
    .map((chapter) => [chapter.split('\n')[0] as string, blocks(chapter, 'sh')]),
)

/** The blocks of commands of a chapter, each to be typed when its moment has come; `<id>` stands for that job. */
export function stepsOf(title: string, { url }: { url: string }, id = ''): (() => Promise<string>)[] {
  const type = typing({ DATABASE_URL: url })
  return (chapters.get(title) ?? []).map((block) => async () => {
    let printed = ''
    for (const line of block.trim().split('\n')) {
      const words = line.replace('<id>', id).match(/"[^"]*"|\S+/g) as string[]
      const { code, out, err } = await type(words.slice(2).map((word) => word.replaceAll('"', '')))
      // A check-up that finds something does not end with 0; the server of the tests is set as none in production.
      if (words[2] !== 'doctor') expect(code, `${line}: ${err}`).toBe(0)
      printed += `${out}\n`
    }
    return printed
  })
}
