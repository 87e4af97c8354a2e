import { useState } from 'react'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const stored = (): Theme => themes.find((theme) => theme === localStorage.getItem('holdfast.theme')) ?? 'system'
const darkOutside = window.matchMedia('(prefers-color-scheme: dark)')

/** Sets the attribute that the colours hang on. */
export function applyTheme(theme: Theme = stored()): void {
  const dark = theme === 'dark' || (theme === 'system' && darkOutside.matches)
  document.documentElement.dataset.theme = dark ? 'dark' : 'light'
}

darkOutside.addEventListener('change', () => applyTheme())

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(stored)
  return [
    theme,
    (next) => {
      localStorage.setItem('holdfast.theme', next)
      applyTheme(next)
      setTheme(next)
    },
  ]
}
