/**
 * Ends the wait of the claim loop or a long poll: on a notification, a free slot, a due time, a stop. A signal that comes while nobody
 * waits ends the next wait at once.
 */
export class Wake {
  #signalled = false
  #waiter: (() => void) | undefined

  signal(): void {
    this.#signalled = true
    this.#waiter?.()
  }

  /** Resolves with true at the next signal, or with false after that time. */
  async wait(ms: number): Promise<boolean> {
    if (!this.#signalled) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(done, ms)
        this.#waiter = done
        function done(): void {
          clearTimeout(timer)
          resolve()
        }
      })
      this.#waiter = undefined
    }
    const signalled = this.#signalled
    this.#signalled = false
    return signalled
  }
}
