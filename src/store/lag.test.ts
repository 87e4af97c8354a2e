import { expect, test } from 'vitest'
import { Lag } from './lag.js'

test('a standby that has everything is not behind, however long nobody wrote', () => {
  const lag = new Lag()
  lag.wrote(100, 0)
  expect(lag.behindMs(100, 60_000)).toBe(0)
  lag.wrote(100, 60_000)
  expect(lag.behindMs(100, 90_000)).toBe(0)
})

test('one that has not is behind since the first that it lacks was written, until it has that', () => {
  const lag = new Lag()
  lag.wrote(100, 0)
  lag.wrote(200, 1_000)
  lag.wrote(300, 2_000)
  expect(lag.behindMs(150, 5_000)).toBe(4_000)
  expect(lag.behindMs(250, 5_000)).toBe(3_000)
  expect(lag.behindMs(300, 5_000)).toBe(0)
})

test('one that has stood still for hours is behind by all of them', () => {
  const lag = new Lag()
  for (let second = 0; second < 7_200; second++) lag.wrote(second + 1, second * 1_000)
  expect(lag.behindMs(0, 7_200_000)).toBe(7_200_000)
})
