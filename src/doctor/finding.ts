/** One thing that a check-up found. */
export interface DoctorFinding {
  /** Stable, for programs to branch on: `long_transaction`, `swallowed_wake_ups`. */
  code: string
  /** An error loses or holds up jobs, a warning will or may, a note says what could not be looked at. */
  severity: 'error' | 'warning' | 'note'
  /** What is wrong and what it leads to, in one sentence. */
  message: string
  /** What was seen. */
  evidence: string[]
  /** What to do: a command, a statement of SQL, or a sentence. */
  remedy: string
}

export function finding(
  severity: DoctorFinding['severity'],
  code: string,
  message: string,
  evidence: string[],
  remedy: string,
): DoctorFinding {
  return { code, severity, message, evidence, remedy }
}
