/**
 * A part of a worker or server that runs in the background, beside the calls that others make: the claim loop, the heartbeat, the
 * settler, upkeep. All of them keep this contract, so that one group can start and stop them (background/group.ts).
 */
export interface Background {
  /** What logs and health call it. */
  readonly name: string
  /**
   * Begins, and returns at once; a part that has begun does nothing. Throws where the part can never run. What goes wrong later, the
   * part tells its monitor and tries again by itself.
   */
  start(): void
  /**
   * Takes on nothing new, finishes what it has for at most that long, and resolves when nothing of it runs any more. Rejects with what
   * it had to leave undone. May come before start(), and more than once.
   */
  stop(withinMs: number): Promise<void>
}

/** Where a part says how it fares. `what` is what it tries to do: "claims", "log writer", "upkeep of retention". */
export interface Monitor {
  /** The part asks for something, and cannot go on without an answer. */
  asking(what: string): void
  /** It was answered, or went well. */
  answered(what: string): void
  /** It failed. The part tries again by itself. */
  failed(what: string, error: unknown): void
  /** It failed for good: the part could not start, did not stop in time, or left something undone. */
  gaveUp(what: string, error: unknown): void
}
