// Which message of an operation is broken, and how. A watch says which messages belong to the operation.
import { statementIn } from './messages.mjs'

/** Every message of every connection. For operations that do one thing after the other. */
export const everything = () => ({ takes: () => true })

/** The first call of one of our named statements: of a worker that does much else meanwhile, on other connections too. */
export const callOf = (name) => statementBeginning(`-- ${name}\n`)

/** The messages of the first statement that begins with this text, and the answers to it. */
export function statementBeginning(marker) {
  let link
  let open = false
  return {
    takes(seen, side, message) {
      if (side === 'frontend' && link === undefined && names(seen, message)?.startsWith(marker)) {
        link = seen
        open = true
      }
      if (seen !== link || !open) return false
      if (side === 'backend' && message.type === 'ReadyForQuery') open = false
      return true
    },
  }
}

/** The messages of a transaction, from the first statement that begins with this text to the answer to its commit. */
export function transactionWith(marker) {
  let link
  let [ending, over] = [false, false]
  return {
    takes(seen, side, message) {
      const said = side === 'frontend' ? names(seen, message) : undefined
      if (link === undefined && said?.startsWith(marker)) link = seen
      if (seen !== link || over) return false
      ending ||= said === 'commit'
      over = ending && message.type === 'ReadyForQuery'
      return true
    },
  }
}

function names(link, message) {
  const said = statementIn(message)
  return said && (said.text ?? link.statements.get(said.name))
}

/** Writes down the messages of an operation that nobody disturbs. */
export class Recorder {
  messages = []
  #watch
  #spring
  /** The operation has been answered. */
  sprung = new Promise((resolve) => {
    this.#spring = resolve
  })

  constructor(watch) {
    this.#watch = watch
  }

  see(link, side, message) {
    if (!this.#watch.takes(link, side, message)) return 'deliver'
    this.messages.push({ side, type: message.type })
    if (message.type === 'ReadyForQuery') this.#spring()
    return 'deliver'
  }
}

/** What the server says when it has done what the message asks. */
const answers = {
  Parse: ['ParseComplete'],
  Bind: ['BindComplete'],
  Describe: ['RowDescription', 'NoData'],
  Execute: ['CommandComplete', 'EmptyQueryResponse', 'PortalSuspended'],
  Sync: ['ReadyForQuery'],
  Query: ['ReadyForQuery'],
  Startup: ['Authentication'],
  Password: ['Authentication'],
}
/** The server keeps its answers to these until it is asked to flush them. */
const keptBack = ['Parse', 'Bind', 'Describe', 'Execute']

export const faults = ['cut-before', 'cut-after', 'freeze']

/** Which faults can befall a message: of the server's there is no answer to wait for. */
export function faultsOf({ side, type }) {
  if (side === 'backend') return ['cut-before', 'freeze']
  return answers[type] ? faults : ['cut-before', 'freeze']
}

/**
 * Breaks the connection at the message with this number:
 *   cut-before  it is not sent on; both sides see the connection end
 *   cut-after   it is sent on and the server does it; the answer is thrown away and the connection ends
 *   freeze      nothing passes for a while, and then everything does
 */
export class Trap {
  #watch
  #at
  #freezeMs
  #seen = { frontend: 0, backend: 0 }
  #awaiting
  #spring
  sprung = new Promise((resolve) => {
    this.#spring = resolve
  })
  done = false

  constructor(watch, at, { freezeMs = 2_000 } = {}) {
    this.#watch = watch
    this.#at = at
    this.#freezeMs = freezeMs
  }

  see(link, side, message) {
    if (this.#awaiting) return this.#await(link, side, message)
    if (this.done || !this.#watch.takes(link, side, message)) return 'deliver'
    const number = this.#seen[side]++
    if (side !== this.#at.side || number !== this.#at.index) return 'deliver'
    // Of operations that are under way together, the messages do not always come in the order in which they were first seen.
    if (this.#at.fault === 'cut-before' || !faultsOf({ side, type: message.type }).includes(this.#at.fault))
      return this.#finish('cut')
    if (this.#at.fault === 'freeze') {
      setTimeout(() => link.thaw(), this.#freezeMs)
      return this.#finish('hold')
    }
    this.#awaiting = { link, types: [...answers[message.type], 'ErrorResponse'] }
    return keptBack.includes(message.type) ? 'deliver and ask' : 'deliver'
  }

  #await(link, side, message) {
    if (link !== this.#awaiting.link) return 'deliver'
    if (side === 'frontend' || !this.#awaiting.types.includes(message.type)) return 'swallow'
    this.#awaiting = undefined
    return this.#finish('cut')
  }

  #finish(verdict) {
    this.done = true
    this.#spring()
    return verdict
  }
}
