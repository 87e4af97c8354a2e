import type { LetterAnswer, LetterStoryAnswer, ManyAnswer, ManyBody } from '../../api/dlq.js'
import type { DeadLetterFilter } from '../../operate/dead-letter-filter.js'
import type { DeadLetter, DeadLetterStory, MovedDeadLetters } from '../../operate/dead-letters.js'
import { storyAnswer } from './job-answers.js'

/** What the library says about dead letters, in the words of the API, and the filter of the API as the library takes it. */
export function filterOf({ died_from, died_before, ...filter }: ManyBody['filter']): DeadLetterFilter {
  return {
    ...filter,
    ...(died_from === undefined ? {} : { diedFrom: new Date(died_from) }),
    ...(died_before === undefined ? {} : { diedBefore: new Date(died_before) }),
  }
}

export function letterAnswer(letter: DeadLetter): LetterAnswer {
  const { diedAt, createdAt, maxAttempts, ...rest } = letter
  return { ...rest, max_attempts: maxAttempts, died_at: diedAt.toISOString(), created_at: createdAt.toISOString() }
}

export function storyOfLetter(letter: DeadLetterStory): LetterStoryAnswer {
  const { reason, diedAt, error } = letter
  return { ...storyAnswer(letter), reason, died_at: diedAt.toISOString(), error }
}

export function manyMoved({ matched, done, refused, diedBefore, waits }: MovedDeadLetters, dryRun: boolean): ManyAnswer {
  return { dry_run: dryRun, matched, done, refused, died_before: diedBefore.toISOString(), ...(waits && { waits }) }
}
