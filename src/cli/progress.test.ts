import { expect, test } from 'vitest'
import { progressLine } from './progress.js'

test('a line of progress has a bar, the share, the counts, and the time that is left at the speed so far', () => {
  expect(progressLine('replayed', 0, 400, 5_000)).toBe(`${'░'.repeat(24)} 0 %  replayed 0 of 400`)
  expect(progressLine('replayed', 100, 400, 10_000)).toBe(`${'█'.repeat(6)}${'░'.repeat(18)} 25 %  replayed 100 of 400, 30s left`)
  expect(progressLine('replayed', 400, 400, 10_000)).toBe(`${'█'.repeat(24)} 100 %  replayed 400 of 400`)
  expect(progressLine('looked at', 500, undefined, 10_000)).toBe('looked at 500, 50 a second')
})
