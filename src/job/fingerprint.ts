import { createHash } from 'node:crypto'
import type { Failure } from './failure.js'
import { refused } from './refused.js'

/** Of a message. What differs between two errors of one kind stands at its beginning. */
const looksAt = 1_000

/** What differs from one job to the next, in the order in which it is looked for, and what stands in its place. */
const differences: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, '<id>'],
  [/"[^"\n]*"|`[^`\n]*`|(?<![\p{L}\p{N}])'[^'\n]*'(?![\p{L}\p{N}])/gu, '<text>'],
  [/[a-z][a-z0-9+.-]{1,20}:\/\/[^\s,;)\]}]+/gi, '<url>'],
  [/[^\s@<>()]{1,100}@[^\s@<>()]{1,200}/g, '<address>'],
  [/(?<![\p{L}\p{N}<])(?:[a-z]:)?[\\/][^\s:;,()'"]+/giu, '<path>'],
  [/\b0x[0-9a-f]+\b|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}\b/gi, '<hex>'],
  [/[+-]?\d+(?:[.,:_-]\d+)*/g, '<n>'],
]

/**
 * Which errors are the same for people: those with one name, one message but for what differs from job to job, and one place in the
 * handler's own code. 16 hexadecimal digits, the same in every process and version. Line numbers do not count: they change with each release.
 */
export function fingerprintOf({ name, message, stack = '' }: Failure): string {
  const parts = [name, shapeOf(message), ownFrame(stack)]
  return createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 16)
}

/** A fingerprint that somebody asks for. */
export function checkedFingerprint(value: unknown, field: string): string {
  if (typeof value === 'string' && /^[0-9a-f]{16}$/.test(value)) return value
  throw refused(field, 'must be the fingerprint of an error group, 16 hexadecimal digits')
}

/** The message with a word in place of whatever differs. */
export function shapeOf(message: string): string {
  const [own = ''] = message.slice(0, looksAt).split('\ncaused by: ')
  return differences
    .reduce((text, [what, word]) => text.replace(what, word), own)
    .replace(/\s+/g, ' ')
    .trim()
}

/** The innermost function that is neither of Node.js nor of a package, and the name of its file; empty where there is none. */
export function ownFrame(stack: string): string {
  for (const line of stack.split('\n')) {
    const found = /^\s+at (?:(.*?) \()?(.*?):\d+:\d+\)?$/.exec(line.slice(0, 1_000))
    if (!found || /^node:|[\\/]node_modules[\\/]/.test(found[2] as string)) continue
    return `${found[1] ?? ''} ${(found[2] as string).split(/[\\/]/).at(-1)}`.trim()
  }
  return ''
}
