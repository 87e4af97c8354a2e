// One connection through the proxy. Every message passes by the trap, which may let it through, hold it or end it all.
import { flush, MessageReader, startupParameter, statementIn } from './messages.mjs'

let opened = 0

export class Link {
  id = ++opened
  /** Names and texts of the statements that were prepared on this connection. */
  statements = new Map()
  application = ''
  #near
  #far
  #trapNow
  #onEnd
  #silent = false
  #frozen = false
  #ended = false
  #clientGone = false
  #held = []
  #fromServer = new MessageReader('backend')

  constructor(near, far, trapNow, onEnd) {
    this.#near = near
    this.#far = far
    this.#trapNow = trapNow
    this.#onEnd = onEnd
    const fromClient = new MessageReader('frontend')
    near.on('data', (chunk) => {
      for (const message of fromClient.read(chunk)) this.#pass('frontend', message)
    })
    far.on('data', (chunk) => {
      for (const message of this.#fromServer.read(chunk)) this.#pass('backend', message)
    })
    for (const event of ['end', 'close'])
      near.on(event, () => {
        this.#clientGone = true
      })
    for (const socket of [near, far]) {
      socket.setNoDelay(true)
      socket.on('error', () => {})
      // On a lost connection nobody hears that the other one has gone.
      for (const event of ['end', 'close']) socket.on(event, () => this.#silent || this.cut())
    }
  }

  cut() {
    if (this.#ended) return
    this.#ended = true
    this.#near.destroy()
    this.#far.destroy()
    this.#onEnd()
  }

  /** The client is gone, and what the server has been sent stands: it learns of it only when it answers. */
  silence() {
    this.#silent = true
  }

  /** The client has gone unheard. */
  get lost() {
    return this.#silent && this.#clientGone
  }

  freeze() {
    this.#frozen = true
  }

  thaw() {
    if (!this.#frozen) return
    this.#frozen = false
    const held = this.#held.splice(0)
    for (const [side, message] of held) this.#pass(side, message)
  }

  /** Makes the server answer what it has, without committing it. */
  askForAnswer() {
    if (!this.#ended) this.#far.write(flush)
  }

  #pass(side, message) {
    if (this.#silent || this.#ended) return
    if (this.#frozen) return void this.#held.push([side, message])
    if (side === 'frontend') this.#learn(message)
    const verdict = this.#trapNow()?.see(this, side, message) ?? 'deliver'
    if (verdict === 'cut') return this.cut()
    if (verdict === 'swallow') return
    if (verdict === 'hold') {
      this.#frozen = true
      return void this.#held.push([side, message])
    }
    if (side === 'frontend') this.#far.write(message.bytes)
    else this.#near.write(message.bytes)
    if (verdict === 'deliver and ask') this.askForAnswer()
  }

  #learn(message) {
    if (message.type === 'Startup') this.application = startupParameter(message.bytes, 'application_name') ?? ''
    if (message.type === 'SSLRequest' || message.type === 'GSSENCRequest') this.#fromServer.expectSingleByte()
    if (message.type !== 'Parse') return
    const { name, text } = statementIn(message)
    this.statements.set(name, text)
  }
}
