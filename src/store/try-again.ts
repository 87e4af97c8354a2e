import { sleep } from '../clock.js'
import { isWorthAnotherTry } from './sqlstate.js'

/** Sends again, at most so many times in all, what a short outage or another session prevented. Only for what may be sent twice. */
export async function tryAgain<Answer>(tries: number, ask: () => Promise<Answer>): Promise<Answer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await ask()
    } catch (error) {
      if (attempt === tries || !isWorthAnotherTry(error)) throw error
      await sleep(50 * 2 ** attempt)
    }
  }
}
