// A reporter for vitest that notes each test as it ends, in the file HOLDFAST_PROGRESS_FILE. A run that is interrupted writes no
// results; from these lines `npm test` can still say what had been run.
import { appendFileSync } from 'node:fs'

export default class ProgressReporter {
  onTestCaseResult(test) {
    const line = JSON.stringify({ state: test.result().state, name: test.fullName, file: test.module.relativeModuleId })
    appendFileSync(process.env.HOLDFAST_PROGRESS_FILE, `${line}\n`)
  }
}
