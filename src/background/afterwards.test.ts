import { expect, test } from 'vitest'
import { Afterwards } from './afterwards.js'

function noting() {
  const said: string[] = []
  const part = { name: 'chores', start: () => void said.push('start'), stop: async () => void said.push('stop') }
  return { said, part: new Afterwards(part) }
}

test('a part that waits for the first round begins with it, and once', async () => {
  const { said, part } = noting()
  part.start()
  await Promise.resolve()
  expect(said).toEqual([])
  part.now()
  part.now()
  await Promise.resolve()
  await Promise.resolve()
  expect(said).toEqual(['start'])
  await part.stop(1_000)
  expect(said).toEqual(['start', 'stop'])
})

test('it begins without that round where none comes', async () => {
  const { said, part } = noting()
  part.start()
  await expect.poll(() => said, { timeout: 30_000 }).toEqual(['start'])
  await part.stop(1_000)
})

test('it does not begin after it was stopped', async () => {
  const { said, part } = noting()
  part.start()
  await part.stop(1_000)
  expect(said).toEqual(['stop'])
})
