import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

/**
 * The file that this code runs from, as URLs: our own, or the bundle it has become part of. There are two ways to ask, and bundlers leave
 * one or the other: CommonJS has no import.meta.url, an ES module no __filename, and webpack writes into import.meta.url where the
 * source was when it was bundled.
 */
export const codeFiles: readonly string[] = [
  ...(typeof __filename === 'string' ? [pathToFileURL(__filename).href] : []),
  ...(typeof import.meta.url === 'string' ? [import.meta.url] : []),
]

/**
 * A file of the package, or of a bundle, by its path from where the entries stand. This code stands there too, or one folder below:
 * bundlers that split code put the pieces into a folder such as chunks/.
 */
export function fileBesideCode(path: string): URL | undefined {
  return codeFiles.flatMap((file) => [new URL(path, file), new URL(`../${path}`, file)]).find((file) => existsSync(file))
}
