/**
 * One signal made of many: a notification, room in the worker, a due time, a stop. Somebody who signals before anybody
 * waits is not forgotten.
 */
export class Wake {
  #signalled = false
  #waiter: (() => void) | undefined

  signal(): void {
    this.#signalled = true
    this.#waiter?.()
  }

  /** Resolves at the next signal with true, or after that time with false. */
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
