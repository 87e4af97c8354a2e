import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

export const repository = fileURLToPath(new URL('../..', import.meta.url))
const src = join(repository, 'src')

export interface SourceFile {
  /** Such as `claim/loop.ts`. */
  path: string
  text: string
  /** The text without its comments. */
  code: string
  /** The files of ours it imports, also only for their types, or starts as a thread. */
  imports: string[]
}

/** Every TypeScript file of the product, tests left out. */
export function sourceFiles(): SourceFile[] {
  return filesUnder(src, '.ts')
    .filter((path) => !path.endsWith('.test.ts'))
    .map((path) => {
      const text = readFileSync(path, 'utf8')
      const code = withoutComments(text)
      const targets = [...code.matchAll(/(?:from|import|import\(|new URL\()\s*'(\.[^']*\.js)'/g)].map(
        (match) => match[1] as string,
      )
      const imports = targets.map((target) => relative(src, join(dirname(path), target.replace(/\.js$/, '.ts'))))
      return { path: relative(src, path), text, code, imports }
    })
}

export function filesUnder(directory: string, ...endings: string[]): string[] {
  return readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && endings.some((ending) => entry.name.endsWith(ending)))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !path.includes('node_modules'))
    .sort()
}

/** Good enough for our own code: no comment sign stands inside of a string here, but for the // of an address. */
function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(?<!:)\/\/.*$/gm, '')
}
