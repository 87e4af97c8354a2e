import { movedAnswer, number, why } from './common.js'
import { type Of, object } from './schema.js'

const revision = {
  type: 'integer',
  minimum: 1,
  maximum: 2_147_483_647,
  description: 'the revision of the payload that was looked at',
} as const
export const approveBody = object({ why, revision })
/** One approval of a job. */
export type ApproveBody = Of<typeof approveBody>
export const rejectBody = object({ why: { ...why, minLength: 1 }, revision }, ['why'])
/** One rejection of a job. */
export type RejectBody = Of<typeof rejectBody>
export const decidedAnswer = object({ ...movedAnswer.properties, approvals: number, quorum: number }, [
  'id',
  'done',
  'was',
  'status',
  'approvals',
  'quorum',
])
/** What became of a job that somebody approved or rejected. */
export type DecidedAnswer = Of<typeof decidedAnswer>
