import type { LiveTerminal, Output } from '../io.js'

const enter = '\u001b[?1049h\u001b[?25l'
const leave = '\u001b[?25h\u001b[?1049l'
const home = '\u001b[H'
const restOfLine = '\u001b[K'
const restOfScreen = '\u001b[J'

/**
 * A picture that takes the whole terminal and is drawn over itself, in one write and without clearing first, so that nothing flickers. The
 * terminal is as it was before when it is closed, whoever ends the program.
 */
export class LivePicture {
  readonly #out: Output
  readonly #release: () => void
  #closed = false

  constructor(out: Output, terminal: LiveTerminal, on: { key(key: string): void; stop(signal: string): void; resize(): void }) {
    this.#out = out
    out.write(enter)
    this.#release = terminal.take({ ...on, restore: () => this.close() })
  }

  draw(lines: readonly string[]): void {
    if (this.#closed) return
    this.#out.write(home + lines.map((line) => line + restOfLine).join('\r\n') + restOfScreen)
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#out.write(leave)
    this.#release()
  }
}
