import { describe, expect, test } from 'vitest'
import { compareReleases, toBeReplaced } from './functions.js'

test('releases are compared by number, and a pre-release is older than its release', () => {
  const inOrder = ['0.1.0', '0.2.0-rc.2', '0.2.0-rc.10', '0.2.0', '0.10.0', '1.0.0', '10.0.0']
  expect([...inOrder].reverse().sort(compareReleases)).toEqual(inOrder)
  expect(compareReleases('1.2.3', '1.2.3')).toBe(0)
})

describe('functions are replaced', () => {
  test('where there are none yet, and where they differ and are not of a newer release', () => {
    expect(toBeReplaced(undefined, 'ours', '1.0.0')).toBe(true)
    expect(toBeReplaced({ release: '0.9.0', hash: 'theirs' }, 'ours', '1.0.0')).toBe(true)
    expect(toBeReplaced({ release: '1.0.0', hash: 'theirs' }, 'ours', '1.0.0')).toBe(true)
  })

  test('not where they are the same, and not where a newer release wrote them', () => {
    expect(toBeReplaced({ release: '0.9.0', hash: 'ours' }, 'ours', '1.0.0')).toBe(false)
    expect(toBeReplaced({ release: '1.0.1', hash: 'theirs' }, 'ours', '1.0.0')).toBe(false)
  })
})
