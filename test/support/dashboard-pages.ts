import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { repository } from './source.js'

/** The paths of every page of the dashboard, as its list of pages has them: /jobs/:id. */
export function pagePaths(): string[] {
  const list = readFileSync(join(repository, 'dashboard', 'src', 'pages', 'index.tsx'), 'utf8')
  return [...list.matchAll(/\bpath: '([^']+)'/g)].map(([, path]) => path as string)
}

/** Those of which no place is visited. */
export function unvisited(places: readonly string[]): string[] {
  const visited = (path: string) => places.some((place) => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`).test(place))
  return pagePaths().filter((path) => !visited(path))
}
