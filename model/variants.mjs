// What SPIN explores: the model at two sizes, and deliberate defects, each of which must be caught by the invariant it names.

/** The model as it is. Each one is explored whole. */
export const sizes = {
  small: [
    { name: 'a type with a limit', set: { WORKERS: 2, JOBS: 3, FAULTS: 2, ACTS: 1, LIMIT: 2 } },
    { name: 'a type without one', set: { WORKERS: 2, JOBS: 3, FAULTS: 1, ACTS: 1, LIMIT: 0 } },
    { name: 'claims of two jobs', set: { WORKERS: 2, JOBS: 3, FAULTS: 1, ACTS: 1, LIMIT: 2, BATCH: 2 } },
  ],
  full: [
    { name: 'a type with a limit', set: { WORKERS: 3, JOBS: 4, FAULTS: 2, ACTS: 1, LIMIT: 2 } },
    { name: 'a type without one', set: { WORKERS: 3, JOBS: 4, FAULTS: 1, ACTS: 1, LIMIT: 0 } },
    { name: 'claims of two jobs', set: { WORKERS: 3, JOBS: 4, FAULTS: 1, ACTS: 1, LIMIT: 2, BATCH: 2 } },
  ],
}

const usual = { WORKERS: 2, JOBS: 3, FAULTS: 2, ACTS: 1, LIMIT: 2 }
/** The type has no limit at first, and the operator is quick to change that. */
const free = { ...usual, FAULTS: 1, LIMIT: 0 }

/** @type {{ name: string, caughtBy: string, set: Record<string, number> }[]} */
export const variants = [
  { name: 'SETTLE_WITHOUT_FENCE', caughtBy: 'I4', set: usual },
  { name: 'SETTLE_WAITS_FOR_THE_LEASE', caughtBy: 'I18', set: usual },
  { name: 'RETRY_THAT_LOSES_THE_JOB', caughtBy: 'I1', set: usual },
  { name: 'HAND_BACK_THAT_SPENDS_AN_ATTEMPT', caughtBy: 'I5', set: usual },
  { name: 'CLAIM_OF_CLAIMED_JOBS', caughtBy: 'I6', set: usual },
  { name: 'LEASE_WITHOUT_ITS_JOBS', caughtBy: 'I2', set: usual },
  { name: 'RESCUE_BEFORE_LEASE_END', caughtBy: 'I6', set: usual },
  { name: 'LEASE_RENEWED_DURING_RESCUE', caughtBy: 'I6', set: usual },
  { name: 'RESCUE_BY_ID_ONLY', caughtBy: 'I6', set: usual },
  { name: 'RESCUE_THAT_FORGETS_THE_DEAD', caughtBy: 'I1', set: usual },
  { name: 'RESCUE_THAT_COUNTS_NO_ATTEMPT', caughtBy: 'I5', set: usual },
  { name: 'RESCUE_LOCKS_THE_GATE_FIRST', caughtBy: 'I18', set: usual },
  { name: 'PROMOTE_THAT_COPIES', caughtBy: 'I3', set: usual },
  { name: 'ADMIT_WITHOUT_LOCK', caughtBy: 'I11', set: usual },
  { name: 'ADMIT_COUNTS_BEFORE_THE_LOCK', caughtBy: 'I11', set: usual },
  { name: 'JOBS_NEVER_PUT_BEFORE_THE_GATE', caughtBy: 'PAUSE', set: free },
  { name: 'FLAG_NEVER_GIVEN_BACK', caughtBy: 'I2', set: usual },
  { name: 'PAUSE_WITHOUT_CLAIMS_LOCK', caughtBy: 'PAUSE', set: free },
  { name: 'LIMIT_WITHOUT_CLAIMS_LOCK', caughtBy: 'I11', set: free },
  { name: 'LIMIT_WITHOUT_COUNTING', caughtBy: 'I11', set: free },
  { name: 'SLOT_RELEASED_AT_THE_CANCEL', caughtBy: 'I11', set: usual },
  { name: 'SLOT_KEPT_AFTER_A_CANCEL', caughtBy: 'I2', set: usual },
  { name: 'CANCEL_OVERWRITTEN_BY_COMPLETION', caughtBy: 'I13', set: usual },
  { name: 'RESUMED_WHILE_ITS_HANDLER_WORKS', caughtBy: 'I6', set: { ...free, FAULTS: 0, ACTS: 2 } },
  { name: 'REPLAY_THAT_KEEPS_THE_DEAD_LETTER', caughtBy: 'I3', set: usual },
]
