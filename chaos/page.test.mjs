import { expect, test } from 'vitest'
import { renderPage } from './page.mjs'

test('the page about reliability says what the reports say, and whether the sources have changed since', () => {
  const { is, should } = renderPage()
  expect(is, 'node chaos/page.mjs writes it').toBe(should)
})
