import { readFileSync } from 'node:fs'

/** A page of docs/, as it stands. */
export function docsPage(name: string): string {
  return readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8')
}

/** The blocks of a page in one language, in their order. */
export function blocks(page: string, language: string): string[] {
  return [...page.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(([, code]) => code as string)
}

const AsyncFunction = Object.getPrototypeOf(async () => {}).constructor

/** Runs an example as it stands, and answers with what it returns; what it imports is given. */
// biome-ignore lint/suspicious/noExplicitAny: an example may return anything
export async function runExample(code: string, given: Record<string, unknown>): Promise<any> {
  const body = code.replaceAll(/^import .*$/gm, '').replaceAll(/^export /gm, '')
  return new AsyncFunction(...Object.keys(given), body)(...Object.values(given))
}
