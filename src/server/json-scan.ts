/** What a text of JSON is refused for before it is parsed. */
export type Unfit =
  | { problem: 'deep'; depth: number }
  | { problem: 'many'; tokens: number }
  | { problem: 'names'; names: number }
  | { problem: 'twice'; name: string }
  | { problem: 'lossy'; number: string }

export const deepest = 64
export const mostTokens = 200_000
/** A field name costs more than any other token, here and in the parser: 100,000 of them took both together 100 ms. */
export const mostNames = 40_000

const quote = 0x22
const backslash = 0x5c

/**
 * Scans a JSON text once before JSON.parse, which took 2.3 s for eight megabytes of `[` and blocked the process. It counts the nesting, the
 * tokens (names, texts, numbers, words, lists and objects) and the field names, and finds what parsing would change silently: a field
 * twice in one object, a number that JavaScript cannot represent. It stops at the first of these. Whether the text is JSON at all is left
 * to the parser.
 */
export function unfitIn(text: string): Unfit | undefined {
  /** For each open object the names in it so far; for a list nothing. */
  const open: (Set<string> | undefined)[] = []
  let tokens = 0
  let named = 0
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at)
    switch (code) {
      case 0x5b: // [
      case 0x7b: // {
        if (open.length === deepest) return { problem: 'deep', depth: deepest }
        open.push(code === 0x7b ? new Set() : undefined)
        tokens += 1
        at += 1
        break
      case 0x5d: // ]
      case 0x7d: // }
        open.pop()
        at += 1
        break
      case quote: {
        const end = endOfText(text, at + 1)
        tokens += 1
        const names = open.at(-1)
        if (names && isName(text, end)) {
          const name = nameIn(text.slice(at, end))
          if (names.has(name)) return { problem: 'twice', name }
          names.add(name)
          named += 1
          if (named > mostNames) return { problem: 'names', names: mostNames }
        }
        at = end
        break
      }
      default: {
        const end = endOfWord(text, at)
        if (end > at) {
          tokens += 1
          if (isLossy(text, at, end)) return { problem: 'lossy', number: text.slice(at, end) }
        }
        at = Math.max(end, at + 1)
      }
    }
    if (tokens > mostTokens) return { problem: 'many', tokens: mostTokens }
  }
  return undefined
}

/** The index after the closing quote, or the end if there is none. */
function endOfText(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === backslash) at += 1
    else if (code === quote) return at + 1
  }
  return text.length
}

/** A text is a field name if a colon follows. */
function isName(text: string, from: number): boolean {
  let at = from
  while (at < text.length && text.charCodeAt(at) <= 0x20) at++
  return text.charCodeAt(at) === 0x3a
}

function nameIn(literal: string): string {
  if (!literal.includes('\\')) return literal.slice(1, -1)
  try {
    return JSON.parse(literal)
  } catch {
    // Not JSON; the parser will say so.
    return literal
  }
}

/** Digits, signs, points and letters in a row: a number, or a word such as true. */
function endOfWord(text: string, from: number): number {
  let at = from
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    const isDigit = code >= 0x30 && code <= 0x39
    const isLetter = (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a
    if (!isDigit && !isLetter && code !== 0x2d && code !== 0x2b && code !== 0x2e) break
  }
  return at
}

/** Whole numbers of at most 15 digits are always exact. */
function isLossy(text: string, from: number, to: number): boolean {
  const first = text.charCodeAt(from)
  if (first !== 0x2d && !(first >= 0x30 && first <= 0x39)) return false
  const literal = text.slice(from, to)
  if (to - from <= 15 && !/[eE]/.test(literal)) return false
  const value = Number(literal)
  if (Number.isNaN(value)) return false
  if (!Number.isFinite(value)) return true
  return /^-?\d+$/.test(literal) && !Number.isSafeInteger(value) && BigInt(literal) !== BigInt(value)
}
