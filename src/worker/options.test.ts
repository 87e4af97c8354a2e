import { expect, test } from 'vitest'
import { readWorkerOptions } from './options.js'

test('a lease that no worker can have is not told to say unsafe where it is said', () => {
  expect(() => readWorkerOptions({ lease: '25d' })).toThrow('60s to 1h; say unsafe: true')
  expect(() => readWorkerOptions({ lease: '25d', unsafe: true })).toThrow('is outside of 100ms to 24d')
  expect(() => readWorkerOptions({ lease: '25d', unsafe: true })).not.toThrow('say unsafe')
})
