import { unstorable } from './text.js'

/** What went wrong, as it is stored with the attempt and shown to a person. */
export interface Failure {
  name: string
  message: string
  stack?: string
  code?: string
  /** Every time the job's host died under it, in a line each; only where that is why the job is dead. */
  crashes?: readonly string[]
}

/** UTF-8 bytes. A failure is written once for every attempt, so its size is paid up to twenty times a job. */
const limits = { name: 200, code: 200, message: 4096, stack: 16_384 }
const causeLevels = 3
const aggregateShown = 3

const everyUnstorable = new RegExp(unstorable, 'gu')

/**
 * Makes a Failure of whatever was thrown, and never throws itself: a throw in here would leave the job without an end.
 * Of a foreign object it reads a few named fields, each one guarded, and never walks it, since it may hold a socket or a
 * gigabyte. The price: other fields of an error are not kept. A getter that never returns cannot be stopped from here.
 */
export function describeFailure(thrown: unknown): Failure {
  try {
    const message = messageOf(thrown)
    const causes = causesOf(thrown)
    const tail = aggregated(thrown) + causes.map((cause) => `\ncaused by: ${headline(cause)}`).join('')
    const own = storable(message, limits.message - Buffer.byteLength(tail))
    const full = own === '' ? tail.trimStart() : own + tail
    const failure: Failure = { name: storable(nameOf(thrown), limits.name), message: full || 'the error had no message' }
    const stack = stackOf(thrown, message, own)
    if (stack !== '') {
      const lower = causes.map((cause) => textIn(cause, 'stack')).filter((text) => text !== '')
      const below = lower.map((text) => `\ncaused by: ${storable(text, 3000)}`).join('')
      failure.stack = storable(stack, limits.stack - Buffer.byteLength(below)) + below
    }
    const code = codeOf(thrown)
    if (code !== '') failure.code = code
    return failure
  } catch {
    return { name: 'Error', message: 'something was thrown that could not be described' }
  }
}

/** Cuts and cleans once more, because a failure may also come from a worker in another language. `fingerprint`: the error group it is in. */
export function encodeFailure(failure: Failure, fingerprint?: string): string {
  return JSON.stringify({
    name: storable(failure.name, limits.name),
    message: storable(failure.message, limits.message),
    ...(failure.stack !== undefined && { stack: storable(failure.stack, limits.stack) }),
    ...(failure.code !== undefined && { code: storable(failure.code, limits.code) }),
    ...(failure.crashes !== undefined && { crashes: failure.crashes.slice(-20).map((line) => storable(line, 500)) }),
    ...(fingerprint !== undefined && { fingerprint }),
  })
}

/** A short text for any value, to put into a sentence. Never throws, and looks no deeper than the names of the keys. */
export function showValue(value: unknown): string {
  try {
    if (typeof value === 'string') return JSON.stringify(storable(value, 120))
    if (typeof value === 'bigint') return value > -(10n ** 40n) && value < 10n ** 40n ? `${value}n` : 'a very long bigint'
    if (typeof value === 'function') return 'a function'
    if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? '-0' : storable(String(value), 120)
    if (Array.isArray(value)) return `an array of ${value.length}`
    const keys = Object.keys(value)
    if (keys.length === 0) return 'an object without keys'
    const more = keys.length > 5 ? ', …' : ''
    return `an object with ${keys
      .slice(0, 5)
      .map((key) => storable(key, 40))
      .join(', ')}${more}`
  } catch {
    return 'an object that cannot be read'
  }
}

/** The text as Postgres can hold it, in at most `limit` bytes, cut between two characters and saying how long it was. */
function storable(text: string, limit: number): string {
  const head = text.length > limit ? text.slice(0, limit) : text
  const clean = unstorable.test(head) ? head.replace(everyUnstorable, '\ufffd') : head
  if (text.length <= limit && (clean.length * 3 <= limit || Buffer.byteLength(clean) <= limit)) return clean
  const note = `… (${text.length} characters)`
  const room = new Uint8Array(Math.max(0, limit - Buffer.byteLength(note)))
  const { written } = new TextEncoder().encodeInto(clean, room)
  return Buffer.from(room.buffer, 0, written).toString('utf8') + note
}

/** At most 600 bytes, so that three causes and three errors of an aggregate leave room for the message they stand behind. */
function headline(thrown: unknown): string {
  const code = codeOf(thrown)
  return `${storable(nameOf(thrown), 100)}: ${storable(messageOf(thrown), 300)}${code && ` (${code})`}`
}

function nameOf(thrown: unknown): string {
  if (!isObject(thrown)) return 'NonError'
  return textIn(thrown, 'name') || textIn(read(thrown, 'constructor'), 'name') || 'NonError'
}

function messageOf(thrown: unknown): string {
  if (typeof thrown === 'string' && thrown !== '') return thrown
  const message = read(thrown, 'message')
  if (typeof message === 'string') return message
  return `${showValue(thrown)} was thrown instead of an error`
}

function codeOf(thrown: unknown): string {
  const code = read(thrown, 'code')
  return typeof code === 'string' || typeof code === 'number' ? storable(String(code), limits.code) : ''
}

/** The stack repeats the message at its head; a huge one is shortened there, so that the frames behind it are kept. */
function stackOf(thrown: unknown, message: string, shortened: string): string {
  const stack = textIn(thrown, 'stack')
  if (message.length <= shortened.length) return stack
  const at = stack.indexOf(message)
  return at < 0 ? stack : stack.slice(0, at) + shortened + stack.slice(at + message.length)
}

function causesOf(thrown: unknown): unknown[] {
  const chain = [thrown]
  while (chain.length <= causeLevels) {
    const cause = read(chain.at(-1), 'cause')
    if (cause === undefined || cause === null || chain.includes(cause)) break
    chain.push(cause)
  }
  return chain.slice(1)
}

function aggregated(thrown: unknown): string {
  try {
    const errors = read(thrown, 'errors')
    if (!Array.isArray(errors) || errors.length === 0) return ''
    const shown = errors.slice(0, aggregateShown).map((error) => `\n- ${headline(error)}`)
    const more = errors.length > aggregateShown ? `\n- and ${errors.length - aggregateShown} more` : ''
    return shown.join('') + more
  } catch {
    return ''
  }
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function'
}

function read(from: unknown, key: string): unknown {
  if (!isObject(from)) return undefined
  try {
    return Reflect.get(from, key)
  } catch {
    return undefined
  }
}

function textIn(from: unknown, key: string): string {
  const text = read(from, key)
  return typeof text === 'string' ? text : ''
}
