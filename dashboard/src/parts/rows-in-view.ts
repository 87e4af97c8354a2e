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
    window.addEventListener('scroll', look, { passive: true })
    window.addEventListener('resize', forget)
    return () => {
      window.removeEventListener('scroll', look)
      window.removeEventListener('resize', forget)
    }
  }, [look])

  return view.to > count ? all(count) : view
}

const all = (count: number): RowsInView => ({ from: 0, to: count, abovePx: 0, belowPx: 0 })
const same = (one: RowsInView, other: RowsInView) =>
  one.from === other.from && one.to === other.to && one.abovePx === other.abovePx && one.belowPx === other.belowPx

function inView(count: number, known: ReadonlyMap<number, number>, body: HTMLElement): RowsInView {
  const sum = [...known.values()].reduce((total, height) => total + height, 0)
  const guess = known.size === 0 ? firstGuessPx : sum / known.size
  const { top } = body.getBoundingClientRect()
  const [seenFrom, seenTo] = [-top - beyondPx, -top + window.innerHeight + beyondPx]
  let at = 0
  let from = 0
  let abovePx = 0
  let to = count
  let toPx = 0
  for (let row = 0; row < count; row++) {
    const height = known.get(row) ?? guess
    if (at + height < seenFrom) {
      from = row + 1
      abovePx = at + height
    }
    if (at <= seenTo) {
      to = row + 1
      toPx = at + height
    }
    at += height
  }
  return { from, to: Math.max(to, from), abovePx: Math.round(abovePx), belowPx: Math.round(Math.max(0, at - toPx)) }
}
