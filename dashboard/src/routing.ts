import { useSyncExternalStore } from 'react'

/** Where the reader is: everything a link has to keep stands in the part of the address after the #. */
export interface Route {
  readonly path: string
  readonly query: URLSearchParams
}

export type Query = Readonly<Record<string, string | undefined>>

/** The address of a page. Values that are missing or empty are left out, so that the same page has one address. */
export function addressOf(path: string, query: Query = {}): string {
  const kept = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== '')
  const search = new URLSearchParams(kept).toString()
  return `#${path}${search === '' ? '' : `?${search}`}`
}

export function readRoute(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#/, '').split(/\?(.*)/s)
  return { path: path.startsWith('/') ? path : '/', query: new URLSearchParams(search) }
}

const subscribe = (changed: () => void) => {
  window.addEventListener('hashchange', changed)
  return () => window.removeEventListener('hashchange', changed)
}

export function useRoute(): Route {
  return readRoute(useSyncExternalStore(subscribe, () => window.location.hash))
}

/** Goes to a page. `replace` is for what the reader types into a filter: Back leaves the page instead of undoing each letter. */
export function go(path: string, query: Query = {}, { replace = false } = {}): void {
  const address = addressOf(path, query)
  if (!replace) {
    window.location.hash = address
    return
  }
  window.history.replaceState(null, '', address)
  window.dispatchEvent(new HashChangeEvent('hashchange'))
}

/** The parts of a path that a pattern names, such as /jobs/:id; undefined where it is another path. */
export function match(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  const wanted = pattern.split('/')
  const there = path.split('/')
  if (wanted.length !== there.length) return undefined
  const named: Record<string, string> = {}
  for (const [position, part] of wanted.entries()) {
    const value = there[position] ?? ''
    if (part.startsWith(':')) named[part.slice(1)] = decodeURIComponent(value)
    else if (part !== value) return undefined
  }
  return named
}
