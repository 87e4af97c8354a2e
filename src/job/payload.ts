import { HoldfastError } from '../errors.js'
import { fieldOf, type Path, pathOf, sentenceOf } from '../issue.js'
import { describeFailure } from './failure.js'
import { describeForeign, isPlainArray, isPlainObject } from './plain.js'
import { unstorable } from './text.js'

export const maxPayloadBytes = 65_536
const maxDepth = 100
/** Where counting stops: one object referred to twice at each of 60 levels would otherwise be written for years. */
const giveUp = { values: 262_144, bytes: 16_777_216 }

/** A short text of these needs no escaping and holds nothing unstorable; most texts are such, and this is the quickest way. */
const simple = /^[ !#-[\]-~]*$/

/**
 * The exact JSON text to store, or an error that names the path of what is wrong. What is accepted comes back deep-equal: nothing is
 * changed or dropped, except what JSON.stringify leaves out too and nobody misses, properties that are undefined,
 * non-enumerable or keyed by a symbol.
 *
 * The text is written during the check and every property is read once. JSON.stringify after a check would read again,
 * and a getter or Proxy could then answer something that was never checked. The price is about half its speed.
 */
export function encodePayload(value: unknown, name = 'payload', maxBytes = maxPayloadBytes): string {
  const writer = new Writer(name, maxBytes)
  let text: string
  try {
    text = writer.write(value)
  } catch (error) {
    if (error === writer.refusal) throw error
    const issue = { path: writer.path(), problem: `could not be read: ${describeFailure(error).message}` }
    throw new HoldfastError('invalid_payload', sentenceOf(issue), { issues: [issue], cause: error })
  }
  // A UTF-16 unit takes at most three bytes, so most payloads need not be measured.
  if (text.length * 3 > maxBytes) {
    const bytes = Buffer.byteLength(text)
    if (bytes > maxBytes) throw tooLarge(name, `is ${bytes} bytes`, maxBytes)
  }
  return text
}

/** JSON.parse makes `__proto__` an own property like any other; nothing here may copy it by assignment. */
export function decodePayload(text: string): unknown {
  return JSON.parse(text)
}

class Writer {
  private readonly name: string
  private readonly maxBytes: number
  refusal: HoldfastError | undefined
  /** The containers being written, outermost first, and the key each of them is at. */
  private readonly open: object[] = []
  private readonly keys: (string | number)[] = []
  private values = 0
  private length = 0

  constructor(name: string, maxBytes: number) {
    this.name = name
    this.maxBytes = maxBytes
  }

  write(value: unknown): string {
    if (++this.values > giveUp.values) throw this.tooMany()
    switch (typeof value) {
      case 'string':
        return this.quote(value)
      case 'number':
        if (Object.is(value, -0)) throw this.refuse('is -0, which JSON would store as 0; use 0')
        if (!Number.isFinite(value)) throw this.refuse(`is ${value}, which JSON cannot hold; use null or leave it out`)
        return String(value)
      case 'boolean':
        return value ? 'true' : 'false'
      case 'object':
        if (value === null) return 'null'
        return Array.isArray(value) ? this.array(value) : this.object(value)
      case 'undefined':
        throw this.refuse('is undefined, which JSON cannot hold; use null')
      case 'bigint':
        throw this.refuse('is a BigInt, which JSON cannot hold exactly; use String(value)')
      default:
        throw this.refuse(`is a ${typeof value}, which JSON cannot hold`)
    }
  }

  path(depth = this.open.length): Path {
    return [...pathOf(this.name), ...this.keys.slice(0, depth)]
  }

  private array(array: readonly unknown[]): string {
    if (!isPlainArray(array)) throw this.refuse(describeForeign(array))
    const length = array.length
    if (length > giveUp.values) throw this.tooMany()
    // Keys that are no index, as the result of a match has them, would be lost without an error.
    if (Object.keys(array).length > length) throw this.refuse('is an array with named properties; use an object')
    const depth = this.enter(array)
    let text = '['
    for (let at = 0; at < length; at++) {
      this.keys[depth] = at
      const item = array[at]
      if (item === undefined && !Object.hasOwn(array, at)) throw this.refuse('is a hole in a sparse array; use null')
      text += at === 0 ? this.write(item) : `,${this.write(item)}`
    }
    this.open.pop()
    return `${text}]`
  }

  private object(object: object): string {
    if (!isPlainObject(object)) throw this.refuse(describeForeign(object))
    const keys = Object.keys(object)
    const depth = this.enter(object)
    let text = '{'
    for (const key of keys) {
      this.keys[depth] = key
      const item = (object as Record<string, unknown>)[key]
      if (item === undefined) continue
      text += `${text === '{' ? '' : ','}${this.quote(key)}:${this.write(item)}`
    }
    this.open.pop()
    return `${text}}`
  }

  private enter(container: object): number {
    const { toJSON } = container as { toJSON?: unknown }
    if (typeof toJSON === 'function') throw this.refuse('has a toJSON method; pass what it returns')
    const depth = this.open.length
    if (depth === maxDepth) throw this.refuse(`is nested more than ${maxDepth} levels deep`)
    const at = this.open.indexOf(container)
    if (at >= 0) throw this.refuse(`is circular: it is ${fieldOf(this.path(at))} again`)
    this.open.push(container)
    return depth
  }

  private quote(text: string): string {
    this.length += text.length
    if (this.length > giveUp.bytes) throw this.remember(tooLarge(this.name, `is more than ${giveUp.bytes} bytes`, this.maxBytes))
    if (text.length < 100 && simple.test(text)) return `"${text}"`
    if (unstorable.test(text)) {
      const what = text.includes('\0') ? 'the character NUL (\\u0000)' : 'half of a surrogate pair'
      throw this.refuse(`has ${what}, which PostgreSQL cannot hold`)
    }
    return JSON.stringify(text)
  }

  private refuse(problem: string): HoldfastError {
    const issue = { path: this.path(), problem }
    return this.remember(new HoldfastError('invalid_payload', sentenceOf(issue), { issues: [issue] }))
  }

  private tooMany(): HoldfastError {
    return this.remember(tooLarge(this.name, `holds more than ${giveUp.values} values`, this.maxBytes))
  }

  private remember(error: HoldfastError): HoldfastError {
    this.refusal = error
    return error
  }
}

function tooLarge(name: string, size: string, maxBytes: number): HoldfastError {
  const sentence = `${name} ${size}; at most ${maxBytes} bytes of JSON are allowed: store the data elsewhere and pass a reference`
  return new HoldfastError('payload_too_large', sentence, { field: name })
}
