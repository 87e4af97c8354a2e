import { setTimeout as pause } from 'node:timers/promises'

const pollMs = 20

/**
 * Polls until there is an answer, or gives up with `undefined`. Polling, because neither a process that is
 * not our child nor a line in postmaster.pid tells us when it changes; the price is up to 20 ms of delay.
 */
export async function waitFor<T>(seconds: number, look: () => T | undefined | Promise<T | undefined>): Promise<T | undefined> {
  for (let left = Math.ceil((seconds * 1000) / pollMs); left > 0; left--) {
    const answer = await look()
    if (answer !== undefined) return answer
    await pause(pollMs)
  }
  return look()
}
