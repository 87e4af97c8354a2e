/** A parameter of a public function or method that is an options object. */
export interface PublicOptions {
  /** `startWorker`, or `Schedules.prune`. */
  call: string
  /** Which parameter it is, from 0. */
  at: number
  name: string
  /** All parameters of the call, by name. */
  parameters: string[]
  /** The declared options that it is made of. */
  names: string[]
  /** The members that stand in the parameter itself. */
  inline: string[]
}
export function publicOptions(): PublicOptions[]
