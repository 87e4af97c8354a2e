import type { BuildAnswer, CanaryAnswer } from '../../api/builds.js'
import type { Holdfast } from '../../holdfast.js'
import { buildAnswer, canaryAnswer } from '../../server/routes/build-answers.js'
import type { Acting, Operator } from './operator.js'

type Builds = Operator['flow']['builds']

/** The builds of workers, as the HTTP client shows and changes them. */
export class DatabaseBuilds implements Pick<Builds, keyof Builds> {
  readonly #holdfast: Holdfast
  readonly #who: Acting

  constructor(holdfast: Holdfast, who: Acting) {
    this.#holdfast = holdfast
    this.#who = who
  }

  async list(): Promise<BuildAnswer[]> {
    return (await this.#holdfast.flow.builds.list()).map(buildAnswer)
  }

  async canary(build: string, options: { baseline?: string } = {}): Promise<CanaryAnswer> {
    return canaryAnswer(await this.#holdfast.flow.builds.canary(build, options))
  }

  async drain(build: string, { why }: { why?: string } = {}): Promise<void> {
    await this.#holdfast.flow.builds.drain(build, this.#who(why))
  }

  async resume(build: string, { why }: { why?: string } = {}): Promise<void> {
    await this.#holdfast.flow.builds.resume(build, this.#who(why))
  }
}
