import { type RedactPath, redactedMark, valuesAt } from './redaction.js'

/** Shorter values would be found in every other word. */
const shortestSecret = 4
/** A text that was cut can end in the beginning of a secret; so much of it gives it away. */
const tellTale = 8
/** Where a text was cut stands one of these: an ellipsis, or what became of half a character. */
const cuts = /[…\ufffd]/

/**
 * The texts that stand at redacted paths of one payload, in every spelling in which they turn up in messages. However many there
 * are, a text is gone through once: a place is looked at closely only where the beginning of a secret stands.
 */
export class Secrets {
  readonly #starts = new Set<string>()
  readonly #heads = new Map<string, string[]>()
  readonly #ofLength = new Map<number, Set<string>>()
  #lengths: readonly number[] = []

  constructor(value: unknown, paths: readonly RedactPath[]) {
    for (const path of paths) for (const found of valuesAt(value, path)) this.#collect(found)
    this.#sortLengths()
  }

  /** Those of several payloads, for a text in which any of them may stand. */
  static together(all: readonly Secrets[]): Secrets {
    const made = new Secrets(undefined, [])
    for (const one of all) for (const same of one.#ofLength.values()) for (const spelling of same) made.#addSpelling(spelling)
    made.#sortLengths()
    return made
  }

  get none(): boolean {
    return this.#lengths.length === 0
  }

  /** A text without the secrets, and without the beginning of one that was cut off. */
  scrub(text: string): string {
    let kept = ''
    let until = 0
    for (let at = 0; at + shortestSecret <= text.length; at++) {
      if (!this.#starts.has(text.slice(at, at + shortestSecret))) continue
      const end = this.#wholeAt(text, at) ?? this.#cutAt(text, at) ?? 0
      if (end <= until) continue
      // Two that overlap in the text are taken out together, or the rest of the second would stay.
      if (at >= until) kept += text.slice(until, at) + redactedMark
      until = end
    }
    return kept + text.slice(until)
  }

  #wholeAt(text: string, at: number): number | undefined {
    const length = this.#lengths.find((each) => this.#ofLength.get(each)?.has(text.slice(at, at + each)))
    return length === undefined ? undefined : at + length
  }

  #cutAt(text: string, at: number): number | undefined {
    for (const secret of this.#heads.get(text.slice(at, at + tellTale)) ?? []) {
      let end = at + tellTale
      while (end - at < secret.length && text[end] === secret[end - at]) end++
      if (end === text.length || cuts.test(text[end] as string)) return end
    }
    return undefined
  }

  #collect(at: unknown): void {
    if (typeof at === 'string') this.#add(at)
    else if (typeof at === 'number') this.#add(String(at))
    else if (at !== null && typeof at === 'object') for (const inner of Object.values(at)) this.#collect(inner)
  }

  #add(secret: string): void {
    if (secret.length < shortestSecret) return
    const inJson = JSON.stringify(secret).slice(1, -1)
    const inAddress = encodeURIComponent(secret.replace(/\p{Surrogate}/gu, '\ufffd'))
    const spellings = [secret, inJson, JSON.stringify(inJson).slice(1, -1), inAddress]
    for (const spelling of new Set(spellings)) this.#addSpelling(spelling)
  }

  #addSpelling(spelling: string): void {
    this.#starts.add(spelling.slice(0, shortestSecret))
    const same = this.#ofLength.get(spelling.length) ?? new Set()
    this.#ofLength.set(spelling.length, same.add(spelling))
    if (spelling.length <= tellTale) return
    const head = spelling.slice(0, tellTale)
    const others = this.#heads.get(head)
    if (others) others.push(spelling)
    else this.#heads.set(head, [spelling])
  }

  #sortLengths(): void {
    this.#lengths = [...this.#ofLength.keys()].sort((a, b) => b - a)
  }
}
