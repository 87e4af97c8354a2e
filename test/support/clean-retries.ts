import { type RunnerTestCase, type RunnerTestSuite, TestRunner } from 'vitest'

/**
 * A test that is tried again (`retry` in vitest.config.ts) begins as the file does: what beforeAll made is torn down and made anew. In a
 * file whose tests share a database the second try would else meet the rows, keys and names of the first, and fail for certain.
 */
export default class CleanRetries extends TestRunner {
  override async onBeforeTryTask(test: RunnerTestCase, { retry } = { retry: 0 }): Promise<void> {
    if (retry > 0) await beginAgain(test)
    super.onBeforeTryTask(test)
  }
}

async function beginAgain(test: RunnerTestCase): Promise<void> {
  const suites: RunnerTestSuite[] = []
  for (let suite: RunnerTestSuite | undefined = test.suite ?? test.file; suite; suite = parentOf(suite)) suites.push(suite)
  for (const suite of suites) {
    // What the first try broke may well fail to end.
    for (const hook of TestRunner.getSuiteHooks(suite).afterAll.toReversed()) await Promise.resolve(hook(suite)).catch(() => {})
  }
  for (const suite of suites.toReversed()) for (const hook of TestRunner.getSuiteHooks(suite).beforeAll) await hook(suite)
}

function parentOf(suite: RunnerTestSuite): RunnerTestSuite | undefined {
  return 'filepath' in suite ? undefined : (suite.suite ?? suite.file)
}
