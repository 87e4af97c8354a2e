import { expect, onTestFinished, test, vi } from 'vitest'
import type { Monitor } from '../background/background.js'
import { type ResultStore, Settler, type Settling } from './settler.js'

const monitor: Monitor = { asking() {}, answered() {}, failed() {}, gaveUp() {} }

/** A settler whose statements take so long, by a clock that the test moves, and how many results each has. */
function settlerOf(statementMs: number) {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const statements: number[] = []
  const store: ResultStore = {
    async settle(_, ended) {
      await new Promise((resolve) => setTimeout(resolve, statementMs))
      statements.push(ended.length)
      return []
    },
  }
  const line = { length: 1 }
  const events = { settling: () => undefined, settled() {}, finished() {}, refused() {}, moreToCome: () => line.length > 0 }
  const settler = new Settler(store, 1, () => false, monitor, events)
  const end = (gated = false) => settler.add({ job: { id: 'a', lease: '1', gated }, settlement: {} } as Settling)
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)
  return { settler, statements, line, end, pass }
}

test('while jobs are in line, results wait for others for as long as the last statement took', async () => {
  const { statements, end, pass } = settlerOf(40)
  end()
  await pass(41)
  expect(statements).toEqual([1])
  end()
  await pass(20)
  end()
  await pass(18)
  expect(statements).toEqual([1])
  await pass(2 + 40)
  expect(statements).toEqual([1, 2])
})

test('no longer than 100 ms', async () => {
  const { statements, end, pass } = settlerOf(400)
  end()
  await pass(401)
  end()
  await pass(100 + 401)
  expect(statements).toEqual([1, 1])
})

test.each([
  [
    'of a worker that has nothing else to do',
    ({ line, end }: ReturnType<typeof settlerOf>) => {
      line.length = 0
      end()
    },
  ],
  ['of a job behind a gate', ({ end }: ReturnType<typeof settlerOf>) => end(true)],
  [
    'that is the hundredth',
    ({ end }: ReturnType<typeof settlerOf>) => {
      for (let n = 0; n < 100; n++) end()
    },
  ],
])('a result %s is written at once', async (_, happens) => {
  const settler = settlerOf(40)
  settler.end()
  await settler.pass(50)
  happens(settler)
  await settler.pass(41)
  expect(settler.statements).toHaveLength(2)
})

test('results that wait for others are written when the settler stops', async () => {
  const { settler, statements, end, pass } = settlerOf(40)
  end()
  await pass(41)
  end()
  const stopped = settler.stop(1_000)
  await pass(41)
  await stopped
  expect(statements).toEqual([1, 1])
})
