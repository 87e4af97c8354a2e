/** How many positions are remembered: of as many checks that found the standby behind. */
const most = 600

/**
 * How far a standby is behind, by positions in the log of its primary and by one clock, ours: what a standby says of time is wrong
 * while nobody writes, and where it has lost its primary.
 */
export class Lag {
  /** What the primary had written, and when; the oldest first. */
  #written: { position: number; atMs: number }[] = []

  /** What the primary has written at that time. */
  wrote(position: number, atMs: number): void {
    this.#written.push({ position, atMs })
    // Of what it is far behind of, the oldest counts.
    if (this.#written.length > most) this.#written.splice(1, 1)
  }

  /** How long ago the primary wrote the first of what the standby has not replayed; 0: it has everything that we know of. */
  behindMs(replayed: number, nowMs: number): number {
    this.#written = this.#written.filter(({ position }) => position > replayed)
    const [first] = this.#written
    return first ? nowMs - first.atMs : 0
  }
}
