/**
 * A first-in, first-out list. Taking the first element costs the same however long the list is, which Array.shift and splice do not
 * promise; the memory of the elements that were taken is freed when new ones are added.
 */
export class Line<Thing> {
  #things: Thing[] = []
  #front = 0

  get length(): number {
    return this.#things.length - this.#front
  }

  get first(): Thing | undefined {
    return this.#things[this.#front]
  }

  join(things: readonly Thing[]): void {
    this.#things = this.length === 0 ? [...things] : this.#things.slice(this.#front).concat(things)
    this.#front = 0
  }

  /** Adds them before all that wait. */
  jump(things: readonly Thing[]): void {
    this.#things = things.concat(this.#things.slice(this.#front))
    this.#front = 0
  }

  count(which: (thing: Thing) => boolean): number {
    let found = 0
    for (let i = this.#front; i < this.#things.length; i++) if (which(this.#things[i] as Thing)) found += 1
    return found
  }

  takeFirst(): Thing | undefined {
    return this.length === 0 ? undefined : this.#things[this.#front++]
  }

  /** Removes and returns the elements for which `which` is true, or all of them, in their order. */
  takeOut(which: (thing: Thing) => boolean = () => true): Thing[] {
    const waiting = this.#things.slice(this.#front)
    this.#things = waiting.filter((thing) => !which(thing))
    this.#front = 0
    return waiting.filter(which)
  }
}
