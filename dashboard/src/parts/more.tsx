import type { UseInfiniteQueryResult } from '@tanstack/react-query'
import { Problem } from './page.js'
import { Skeleton } from './skeleton.js'

/** The end of a list that comes in pages: why it could not be read, and the way on. */
export function More({ list, settled = true }: { list: UseInfiniteQueryResult; settled?: boolean }) {
  const pages = (list.data as { pages?: readonly unknown[] } | undefined)?.pages?.length ?? 0
  return (
    <>
      {list.error && <Problem error={list.error} />}
      {list.isPending && !list.error && <Skeleton />}
      {!settled && list.data !== undefined && !list.error && <p className="empty">Looking further back …</p>}
      {settled && list.hasNextPage && (
        <p className="more">
          <button type="button" onClick={() => list.fetchNextPage()} disabled={list.isFetchingNextPage}>
            {list.isFetchingNextPage ? 'Loading …' : 'More'}
          </button>
          {pages > 1 && (
            <button type="button" className="plain" onClick={() => list.refetch()}>
              the list stands still; load it anew
            </button>
          )}
        </p>
      )}
    </>
  )
}
