import type { MovedAnswer } from '../../api/common.js'
import type {
  DlqQuery,
  LetterAnswer,
  LetterStoryAnswer,
  ManyAnswer,
  ManyBody,
  ReplayBody,
  ReplayManyBody,
} from '../../api/dlq.js'
import type { Holdfast } from '../../holdfast.js'
import { filterOf, letterAnswer, manyMoved, storyOfLetter } from '../../server/routes/letter-answers.js'
import { orConflict } from '../../server/routes/one-job.js'
import { defined } from '../defined.js'
import type { Acting, Operator } from './operator.js'

type Letters = Operator['deadLetters']

/** Dead letters, as the HTTP client shows and moves them. */
export class DatabaseDeadLetters implements Pick<Letters, keyof Letters> {
  readonly #holdfast: Holdfast
  readonly #who: Acting

  constructor(holdfast: Holdfast, who: Acting) {
    this.#holdfast = holdfast
    this.#who = who
  }

  async list({ limit = 20, cursor, ...filter }: DlqQuery = {}): Promise<{ letters: LetterAnswer[]; next: string | null }> {
    const page = await this.#holdfast.deadLetters.list(filterOf(filter), defined({ limit, after: cursor }))
    return { letters: page.letters.map(letterAnswer), next: page.next ?? null }
  }

  async get(id: string): Promise<LetterStoryAnswer | undefined> {
    const letter = await this.#holdfast.deadLetters.get(id)
    return letter && storyOfLetter(letter)
  }

  async replay(id: string, { why, ...options }: ReplayBody = {}): Promise<MovedAnswer> {
    return orConflict(await this.#holdfast.deadLetters.replay(id, this.#who(why), options))
  }

  async discard(id: string, { why }: { why?: string } = {}): Promise<MovedAnswer> {
    return orConflict(await this.#holdfast.deadLetters.discard(id, this.#who(why)))
  }

  async replayMany({ filter, dry_run: dryRun = true, at_most: atMost, confirm, why }: ReplayManyBody): Promise<ManyAnswer> {
    const options = defined({ dryRun, atMost, confirm })
    return manyMoved(await this.#holdfast.deadLetters.replayMany(filterOf(filter), this.#who(why), options), dryRun)
  }

  async discardMany({ filter, dry_run: dryRun = true, at_most: atMost, why }: ManyBody): Promise<ManyAnswer> {
    const options = defined({ dryRun, atMost })
    return manyMoved(await this.#holdfast.deadLetters.discardMany(filterOf(filter), this.#who(why), options), dryRun)
  }
}
