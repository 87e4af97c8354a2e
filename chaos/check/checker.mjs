// All invariants by the names they have in the research on failures, each a pure function of the evidence.
import { I6, I7, I11, I22 } from './executions.mjs'
import { I21 } from './groups.mjs'
import { I1, I2, I3, I4, I5, I8, I9 } from './jobs.mjs'
import { I10, I12, I13, I14, I15, I16, I17, I19 } from './promises.mjs'
import { I18 } from './sessions.mjs'
import { I20 } from './steps.mjs'

export const invariants = { I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I12, I13, I14, I15, I16, I17, I18, I19, I20, I21, I22 }

/** How often each invariant was put to the test, and every time it did not hold. */
export function check(history) {
  return Object.fromEntries(
    Object.entries(invariants).map(([name, invariant]) => {
      const verdicts = [...invariant.check(history)]
      return [name, { checked: verdicts.length, violations: verdicts.filter((verdict) => verdict !== true) }]
    }),
  )
}

/** Every violation as a sentence that begins with the name of its invariant. */
export function violations(history) {
  return Object.entries(check(history)).flatMap(([name, { violations: found }]) => found.map((text) => `${name}: ${text}`))
}
