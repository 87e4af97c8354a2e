import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** What this process holds on to, in bytes: all that nobody can reach any more is collected first. */
export async function bytesHeld(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  // What the first round has let go of, such as the bytes of buffers, the second one frees.
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/**
 * Watches how long the event loop computes without a pause. Counts the processor's time of this process and not what the clock
 * says, which other programs on the machine lengthen: only a loop that is really blocked has a long stretch.
 */
export function watchLoop() {
  const spentMs = () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000
  }
  let last = spentMs()
  let longest = 0
  const look = () => {
    const now = spentMs()
    longest = Math.max(longest, now - last)
    last = now
  }
  const timer = setInterval(look, 5)
  return {
    /** Ends the watch. */
    longestMs(): number {
      clearInterval(timer)
      look()
      return longest
    },
  }
}
