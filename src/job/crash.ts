/** One time a job's host died under it: its worker, or a thread or process of its own. */
export interface Crash {
  readonly attempt: number
  readonly at: Date
  readonly message: string
}

export function showCrash({ attempt, at, message }: Crash): string {
  return `attempt ${attempt}, ${at.toISOString()}: ${message}`
}
