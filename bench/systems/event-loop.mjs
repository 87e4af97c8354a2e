// What an event loop alone can do with handlers that wait for a timer: so many at once, each followed by the next. No queue at all.
import { setTimeout as pause } from 'node:timers/promises'

export async function prepare() {}

export async function startWorker(_url, { concurrency, handlerMs, jobs }, handle) {
  let left = jobs
  let settled = 0
  const loop = async () => {
    while (left-- > 0) {
      handle()
      await pause(handlerMs)
      settled++
    }
  }
  const loops = Array.from({ length: concurrency }, loop)
  return { settled: () => settled, stop: () => Promise.all(loops) }
}
