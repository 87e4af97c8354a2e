import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from 'react'

/** Shorter lists are shown whole. */
const whole = 120
/** How far beyond what is seen rows are there, so that nobody scrolls into nothing, and keys find the next row. */
const beyondPx = 800
const firstGuessPx = 40

export interface RowsInView {
  readonly from: number
  readonly to: number
  /** How high the rows are that are not there. */
  readonly abovePx: number
  readonly belowPx: number
}

/**
 * Which rows of a long list have to be there: those in the window, and some beyond it. Rows have no common height (a text may take two lines, and on a
 * phone a row is a block), so each is measured once it is there; for those that never were, the average stands.
 */
export function useRowsInView(count: number, body: RefObject<HTMLTableSectionElement | null>): RowsInView {
  const heights = useRef(new Map<number, number>())
  const [view, setView] = useState<RowsInView>(() => ({ from: 0, to: Math.min(count, whole), abovePx: 0, belowPx: 0 }))
  const look = useCallback(() => {
    const found = count <= whole || !body.current ? all(count) : inView(count, heights.current, body.current)
    setView((last) => (same(last, found) ? last : found))
  }, [count, body])

  useLayoutEffect(() => {
    if (count <= whole || !body.current) return
    const known = heights.current
    const before = known.size
    for (const row of body.current.querySelectorAll<HTMLElement>('tr[data-row]')) {
      known.set(Number(row.dataset.row), row.getBoundingClientRect().height)
    }
    if (known.size !== before) look()
  })

  useEffect(() => {
    look()
    const forget = () => {
      heights.current.clear()
      look()
    }
    // Captured, because a list may stand in something that scrolls by itself, whose events do not rise.
    window.addEventListener('scroll', look, { passive: true, capture: true })
    window.addEventListener('resize', forget)
    return () => {
      window.removeEventListener('scroll', look, { capture: true })
      window.removeEventListener('resize', forget)
    }
  }, [look])

  return view.to > count ? all(count) : view
}

const all = (count: number): RowsInView => ({ from: 0, to: count, abovePx: 0, belowPx: 0 })
const same = (one: RowsInView, other: RowsInView) =>
  one.from === other.from && one.to === other.to && one.abovePx === other.abovePx && one.belowPx === other.belowPx

function inView(count: number, known: ReadonlyMap<number, number>, body: HTMLElement): RowsInView {
  const { top } = body.getBoundingClientRect()
  return rowsBetween(count, known, -top - beyondPx, -top + window.innerHeight + beyondPx)
}

/** The rows that lie between two heights below the head of the list. */
export function rowsBetween(count: number, known: ReadonlyMap<number, number>, fromPx: number, toPx: number): RowsInView {
  const sum = [...known.values()].reduce((total, height) => total + height, 0)
  const guess = known.size === 0 ? firstGuessPx : sum / known.size
  let [from, to, at, abovePx, endPx] = [0, 0, 0, 0, 0]
  for (let row = 0; row < count; row++) {
    const next = at + (known.get(row) ?? guess)
    if (next < fromPx) [from, abovePx] = [row + 1, next]
    if (at <= toPx) [to, endPx] = [row + 1, next]
    at = next
  }
  return { from, to: Math.max(to, from), abovePx: Math.round(abovePx), belowPx: Math.round(Math.max(0, at - endPx)) }
}
