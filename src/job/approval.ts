import { Checker } from './checker.js'
import { type Duration, toMilliseconds } from './duration.js'
import { refused, wholeNumber } from './refused.js'

/** What a job needs before it may run. `true` stands for one approval, without a deadline. */
export type ApprovalOption =
  | true
  | {
      /**
       * How many different people have to approve.
       * @range 1 to 100
       * @default 1
       */
      quorum?: number
      /**
       * How long after the enqueue a decision is waited for.
       * @range 1 ms to 100 years
       * @default for ever
       */
      deadline?: Duration
      /**
       * What happens when nobody has decided by then.
       * @range cancel or approve
       * @default 'cancel'
       */
      onDeadline?: 'cancel' | 'approve'
    }

/** Whose approval the jobs of a type need: its definition, checked. */
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
  const { deadline, onDeadline = 'cancel' } = option
  const check = new Checker()
  check.known(option, known, ['approval'])
  const quorum = check.read(() => wholeNumber(option.quorum ?? 1, 'approval.quorum', 1, 100), 1)
  if (onDeadline !== 'cancel' && onDeadline !== 'approve') {
    check.wrong('approval.onDeadline', `is ${String(onDeadline)}; it is cancel or approve`)
  } else if (deadline === undefined && option.onDeadline !== undefined) {
    check.wrong('approval.onDeadline', 'needs approval.deadline, which says when it happens')
  }
  const deadlineMs = deadline === undefined ? undefined : check.read(() => toMilliseconds(deadline, 'approval.deadline'), 1)
  if (deadlineMs === 0) check.wrong('approval.deadline', 'is 0; give people some time to decide')
  check.done('invalid_option', 'the option approval has problems')
  return { quorum, deadlineMs, onDeadline }
}

/** As the database keeps it. */
export function encodeApproval(approval: Approval | undefined): string | null {
  if (approval === undefined) return null
  const { quorum, deadlineMs, onDeadline } = approval
  return JSON.stringify({ quorum, deadline_ms: deadlineMs, on_deadline: onDeadline })
}
