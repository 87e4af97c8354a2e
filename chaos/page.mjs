// Writes the latest reports into the page about them: node chaos/page.mjs
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { sourceTree } from '../tools/source-tree.mjs'
import { withReports } from './report-page.mjs'

const page = new URL('../docs/reliability.md', import.meta.url)

/** The page as it should be, and as it is. */
export function renderPage() {
  const read = (name) => {
    const file = new URL(`./results/${name}.json`, import.meta.url)
    return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
  }
  const is = readFileSync(page, 'utf8')
  const today = sourceTree(fileURLToPath(new URL('..', import.meta.url)))
  return {
    is,
    should: withReports(is, { long: read('long'), short: read('short'), soak: read('soak'), mutation: read('mutation') }, today),
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(page, renderPage().should)
