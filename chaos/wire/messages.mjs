// The messages of the PostgreSQL protocol, version 3: told apart by type and length, never by what a packet happens to hold.

const frontend = {
  B: 'Bind', C: 'Close', d: 'CopyData', c: 'CopyDone', f: 'CopyFail', D: 'Describe', E: 'Execute', H: 'Flush', F: 'FunctionCall',
  P: 'Parse', p: 'Password', Q: 'Query', S: 'Sync', X: 'Terminate',
} // biome-ignore format: one list
const backend = {
  R: 'Authentication', K: 'BackendKeyData', 2: 'BindComplete', 3: 'CloseComplete', C: 'CommandComplete', d: 'CopyData',
  c: 'CopyDone', G: 'CopyInResponse', H: 'CopyOutResponse', W: 'CopyBothResponse', D: 'DataRow', I: 'EmptyQueryResponse',
  E: 'ErrorResponse', V: 'FunctionCallResponse', v: 'NegotiateProtocolVersion', n: 'NoData', N: 'NoticeResponse',
  A: 'NotificationResponse', t: 'ParameterDescription', S: 'ParameterStatus', 1: 'ParseComplete', s: 'PortalSuspended',
  Z: 'ReadyForQuery', T: 'RowDescription',
} // biome-ignore format: one list

const requests = { 80877103: 'SSLRequest', 80877104: 'GSSENCRequest', 80877102: 'CancelRequest', 196608: 'Startup' }

/** Asks the server to answer what it has been sent so far, without ending the transaction as Sync would. */
export const flush = Buffer.from([0x48, 0, 0, 0, 4])

/**
 * Cuts a stream of bytes into messages. A client begins with messages that have no type: it may ask for encryption, which
 * the server answers with one byte, and then starts up.
 */
export class MessageReader {
  #side
  #pending = Buffer.alloc(0)
  #untyped

  /** @param {'frontend' | 'backend'} side whose messages these are */
  constructor(side) {
    this.#side = side
    this.#untyped = side === 'frontend'
  }

  /** The next byte is an answer to SSLRequest or GSSENCRequest and no message. */
  expectSingleByte() {
    this.#untyped = true
  }

  /** Every message that is complete by now, as { type, bytes }. */
  *read(chunk) {
    this.#pending = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk])
    for (;;) {
      const length = this.#lengthOfNext()
      if (length === undefined || this.#pending.length < length) return
      const bytes = this.#pending.subarray(0, length)
      this.#pending = this.#pending.subarray(length)
      yield { type: this.#typeOf(bytes), bytes }
    }
  }

  #lengthOfNext() {
    const untyped = this.#untyped
    if (untyped && this.#side === 'backend') return this.#pending.length > 0 ? 1 : undefined
    const header = untyped ? 4 : 5
    if (this.#pending.length < header) return undefined
    return this.#pending.readInt32BE(header - 4) + header - 4
  }

  #typeOf(bytes) {
    if (!this.#untyped) return (this.#side === 'frontend' ? frontend : backend)[String.fromCharCode(bytes[0])] ?? 'Unknown'
    if (this.#side === 'backend') {
      this.#untyped = false
      return 'EncryptionAnswer'
    }
    const type = requests[bytes.readInt32BE(4)] ?? 'Startup'
    if (type === 'Startup' || type === 'CancelRequest') this.#untyped = false
    return type
  }
}

/** What a Startup message says about a parameter such as application_name. */
export function startupParameter(bytes, name) {
  const words = bytes.subarray(8).toString('utf8').split('\0')
  return words[words.indexOf(name) + 1]
}

/** The name of the prepared statement and its text (Parse), or the name of the one that is used (Bind). */
export function statementIn({ type, bytes }) {
  if (type === 'Query') return { name: '', text: cString(bytes, 5).text }
  if (type === 'Parse') {
    const name = cString(bytes, 5)
    return { name: name.text, text: cString(bytes, name.end).text }
  }
  if (type !== 'Bind') return undefined
  const portal = cString(bytes, 5)
  return { name: cString(bytes, portal.end).text }
}

function cString(bytes, from) {
  const end = bytes.indexOf(0, from)
  return { text: bytes.subarray(from, end).toString('utf8'), end: end + 1 }
}
