import { useEffect } from 'react'
import { pages } from '../pages/index.js'
import { go } from '../routing.js'

const stored = 'holdfast.shortcuts'
/** After g, the letter of a page has to come within this time. */
const togetherMs = 1_500

/** People who speak to their computer, or press keys by accident, can switch them off. */
export const shortcutsAreOn = () => localStorage.getItem(stored) !== 'off'
export const switchShortcuts = (on: boolean) => localStorage.setItem(stored, on ? 'on' : 'off')

/** What each key does, for the list of them and for the keys themselves. */
export const keysOfPage: Readonly<Record<string, string>> = {
  '/': 'to the first filter',
  j: 'next row',
  k: 'row before',
  x: 'select the row; with Shift, all rows up to it',
  c: 'cancel the job that is shown',
  r: 'replay or resume the job that is shown',
  h: 'hold the page still, or let it go on',
  '?': 'this list',
  'Ctrl K': 'go to any page, job, type or lane',
}

export function useShortcuts(open: (what: 'palette' | 'help') => void): void {
  useEffect(() => {
    // Not 0: a page that was just opened is younger than `togetherMs`, and its first key would count as one after g.
    let sawG = Number.NEGATIVE_INFINITY
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)) {
        event.preventDefault()
        open('palette')
        return
      }
      if (!shortcutsAreOn() || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
      if (document.querySelector('dialog[open]')) return
      const page = event.timeStamp - sawG < togetherMs ? pages.find(({ menu }) => menu?.key === event.key) : undefined
      sawG = event.key === 'g' ? event.timeStamp : Number.NEGATIVE_INFINITY
      if (page) go(page.path)
      else if (!press(event.key, open)) return
      event.preventDefault()
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  }, [open])
}

function isTyping(target: EventTarget | null): boolean {
  if (target instanceof HTMLInputElement && target.type === 'checkbox') return false
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName))
}

function press(key: string, open: (what: 'palette' | 'help') => void): boolean {
  if (key === '?') open('help')
  else if (key === '/') document.querySelector<HTMLElement>('.filters input, .filters select')?.focus()
  else if (key === 'j' || key === 'k') stepRow(key === 'j' ? 1 : -1)
  else if (key === 'h') document.querySelector<HTMLElement>('.connection button')?.click()
  else if (key === 'r' || key === 'c') document.querySelector<HTMLElement>(`.page [aria-keyshortcuts="${key}"]`)?.click()
  else if (key === 'x' || key === 'X') pickRow(key === 'X')
  else return false
  return true
}

/** Selects the row that has the focus, or lets go of it. */
function pickRow(shiftKey: boolean): void {
  const box = document.activeElement?.closest('tr')?.querySelector<HTMLElement>('.pick')
  box?.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, shiftKey }))
}

/** Moves the focus to the link of the next row, so that Enter opens it. */
function stepRow(by: 1 | -1): void {
  const links = [...document.querySelectorAll('.page tbody tr')].flatMap((row) => row.querySelector<HTMLElement>('a') ?? [])
  const here = links.findIndex((link) => link.closest('tr')?.contains(document.activeElement))
  const next = here === -1 ? 0 : Math.min(links.length - 1, Math.max(0, here + by))
  links[next]?.focus()
}
