import { type UseQueryResult, useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { Of } from '../../../src/api/schema.js'
import { ask, type Question } from './ask.js'
import { useHeld } from './live.js'

/** What is asked for less often does not say whether the server answers now. */
const slowFromMs = 5_000

type Asked = NonNullable<Question['query']>

/** What the server answers to a GET, asked again every two seconds while somebody looks and does not hold the page still. */
export function useAnswer<Answer>(
  path: string,
  query: Asked = {},
  { enabled = true, everyMs = 2_000 } = {},
): UseQueryResult<Answer> {
  const held = useHeld()
  return useQuery({
    queryKey: [path, query],
    queryFn: ({ signal }) => ask<Answer>(path, { query, signal }),
    refetchInterval: held ? false : everyMs,
    meta: { slow: everyMs > slowFromMs },
    enabled,
  }) as UseQueryResult<Answer>
}

/** The answer that a schema of the API describes. */
export type Answered<Schema> = Of<Schema>

/** A page may be short or empty because the server looks at some thousand rows at a time: so many pages are asked for by themselves. */
const looksByThemselves = 20
const enough = 20

/**
 * A list page by page. It follows what happens while one page is shown; once there are more, the list stands still, so that nothing
 * jumps under the pointer. `settled`: enough rows were found, or there are no more, or it looked as far as it looks by itself.
 */
export function usePages<Row, Name extends string>(
  path: string,
  rowsUnder: Name,
  query: Asked = {},
  { cursor = 'cursor', looks = looksByThemselves } = {},
) {
  type Page = Readonly<Record<Name, readonly Row[]>> & { readonly next: string | null; readonly looked_back_to?: string | null }
  const held = useHeld()
  const list = useInfiniteQuery({
    queryKey: [path, 'pages', query],
    queryFn: ({ pageParam, signal }) => ask<Page>(path, { query: { ...query, [cursor]: pageParam }, signal }),
    initialPageParam: '',
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: ({ state }) => (held ? false : (state.data?.pages.length ?? 0) > 1 ? 30_000 : 2_000),
  })
  const { data, hasNextPage, isFetching, isError, fetchNextPage } = list
  const rows = data?.pages.flatMap((page) => page[rowsUnder]) ?? []
  const settled = data !== undefined && (!hasNextPage || rows.length >= enough || data.pages.length >= looks)
  useEffect(() => {
    if (data !== undefined && !settled && !isFetching && !isError) fetchNextPage()
  }, [data, settled, isFetching, isError, fetchNextPage])
  return { list, rows, settled }
}

/** The parts of a path, each written so that no character in a name can change the path. */
export const pathOf = (...parts: readonly (string | number)[]) => parts.map((part) => encodeURIComponent(part)).join('/')
