import { type Duration, toMilliseconds } from './duration.js'
import { didYouMean } from './nearest.js'
import { refused } from './refused.js'

/** What a job needs before it may run. `true` stands for one approval, without a deadline. */
export type ApprovalOption =
  | true
  | {
      /**
       * How many different people have to approve.
       * @default 1
       */
      quorum?: number
      /**
       * How long after the enqueue a decision is waited for.
       * @default for ever
       */
      deadline?: Duration
      /**
       * What happens when nobody has decided by then.
       * @default 'cancel'
       */
      onDeadline?: 'cancel' | 'approve'
    }

export interface Approval {
  readonly quorum: number
  readonly deadlineMs: number | undefined
  readonly onDeadline: 'cancel' | 'approve'
}

const known = ['quorum', 'deadline', 'onDeadline']

/** Undefined where none is needed. `false` is refused: what a type asks for cannot be waived by a producer. */
export function readApproval(option: ApprovalOption | undefined): Approval | undefined {
  if (option === undefined) return undefined
  if (option === true) return { quorum: 1, deadlineMs: undefined, onDeadline: 'cancel' }
  if (option === null || typeof option !== 'object') {
    throw refused('approval', `is ${String(option)}; it is true or an object with quorum, deadline and onDeadline`)
  }
  const unknown = Object.keys(option).find((key) => !known.includes(key))
  if (unknown) throw refused(`approval.${unknown}`, `is not known${didYouMean(unknown, known)}; known are ${known.join(', ')}`)
  const { quorum = 1, deadline, onDeadline = 'cancel' } = option
  if (!Number.isInteger(quorum) || quorum < 1 || quorum > 100) {
    throw refused('approval.quorum', `is ${String(quorum)}; it must be a whole number from 1 to 100`)
  }
  if (onDeadline !== 'cancel' && onDeadline !== 'approve') {
    throw refused('approval.onDeadline', `is ${String(onDeadline)}; it is cancel or approve`)
  }
  const deadlineMs = deadline === undefined ? undefined : toMilliseconds(deadline, 'approval.deadline')
  if (deadlineMs === 0) throw refused('approval.deadline', 'is 0; give people some time to decide')
  if (deadlineMs === undefined && option.onDeadline !== undefined) {
    throw refused('approval.onDeadline', 'needs approval.deadline, which says when it happens')
  }
  return { quorum, deadlineMs, onDeadline }
}

/** As the database keeps it. */
export function encodeApproval(approval: Approval | undefined): string | null {
  if (approval === undefined) return null
  const { quorum, deadlineMs, onDeadline } = approval
  return JSON.stringify({ quorum, deadline_ms: deadlineMs, on_deadline: onDeadline })
}
