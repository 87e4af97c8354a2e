// What becomes of a mutant: killed by a test; survived all that it was given; late, because they took too long, which says nothing; or invalid,
// because PostgreSQL does not take it.
import pg from 'pg'

/** How long the tests of a round may take. */
const longestMs = (files) => 120_000 + 30_000 * files

export class Judge {
  constructor(url, sandbox, testsOf) {
    this.url = url
    this.sandbox = sandbox
    this.testsOf = testsOf
  }

  async try(mutant) {
    const problem = await refusal(this.url, mutant.changed)
    if (problem) return { status: 'invalid', by: problem }
    let tests = 0
    for (const round of this.testsOf(mutant)) {
      const verdict = await this.#verdictOf(mutant, round)
      if (verdict) return verdict
      tests += round.length
    }
    return { status: 'survived', tests }
  }

  /**
   * What a round says, undefined where no test fails. On a busy machine a test may fail by itself, so a test kills where its file passes
   * without the mutant and fails in the same test with it once more.
   */
  async #verdictOf(mutant, round) {
    let files = round
    for (;;) {
      const { failed, late } = await this.#run(mutant, files)
      if (late) return { status: 'late' }
      if (!failed) return undefined
      const { file, test } = failed
      const without = await this.sandbox.run([file], longestMs(1))
      const again = without.failed || without.late ? undefined : await this.#run(mutant, [file])
      if (again?.failed?.test === test) return { status: 'killed', by: `${file} > ${test}` }
      files = files.filter((one) => one !== file)
    }
  }

  async #run({ file, statement, changed }, files) {
    const takeOut = this.sandbox.put(file, statement, changed)
    return this.sandbox.run(files, longestMs(files.length)).finally(takeOut)
  }
}

/** Why PostgreSQL refuses a function, checking its body as well; undefined where it takes it. */
export async function refusal(url, statement) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query('begin')
    await client.query(statement)
    return undefined
  } catch (error) {
    return error.message
  } finally {
    await client.end()
  }
}
