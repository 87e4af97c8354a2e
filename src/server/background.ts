import type { Monitor } from '../background/background.js'
import type { Logger } from '../worker/logger.js'

/** A server has no health of its own upkeep to show, so what fails there is logged. */
export function loggingMonitor(log: Logger): Monitor {
  return {
    asking: () => {},
    answered: () => {},
    failed: (what, error) => log.warn({ part: what, error: String(error) }, `the ${what} failed and tries again`),
    gaveUp: (what, error) => log.error({ part: what, error: String(error) }, `the ${what} failed`),
  }
}
