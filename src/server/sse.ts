import type { ServerResponse } from 'node:http'

const heartbeatMs = 15_000
/** How long a reader has at the end to read the rest. */
const readWithinMs = 10_000
/** A client that does not read is disconnected before it fills our memory; it can reconnect with the last id it saw. */
const mostUnread = 1_000_000

/** One answer of server-sent events. It sends something at least every 15 s, so that no proxy takes the connection for dead. */
export class EventStream {
  readonly #response: ServerResponse

  constructor(response: ServerResponse, headers: Record<string, string>) {
    this.#response = response
    response.writeHead(200, {
      ...headers,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      // No request follows a stream, and a connection kept alive would keep the server from closing.
      connection: 'close',
      'x-accel-buffering': 'no',
    })
    response.write('retry: 1000\n\n')
    const heartbeat = setInterval(() => this.closed || response.write(': still here\n\n'), heartbeatMs)
    heartbeat.unref()
    this.whenClosed(() => clearInterval(heartbeat))
  }

  /** Data is JSON, which has no line breaks. */
  send(event: string, data: string, id?: string): void {
    if (this.closed) return
    this.#response.write(`event: ${event}\n${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`)
    if (this.#response.writableLength > mostUnread) this.#response.destroy()
  }

  /** The last event: a client that gets it need not reconnect. */
  end(why: object): void {
    this.send('end', JSON.stringify(why))
    this.close()
  }

  close(): void {
    if (this.closed) return
    this.#response.end()
    const cutOff = setTimeout(() => this.#response.destroy(), readWithinMs)
    cutOff.unref()
    this.whenClosed(() => clearTimeout(cutOff))
  }

  /** The client has gone; further events are dropped. */
  get closed(): boolean {
    return this.#response.writableEnded || this.#response.destroyed
  }

  /** Called at once if the reader has gone before the first event. */
  whenClosed(tell: () => void): void {
    if (this.#response.closed) tell()
    else this.#response.on('close', tell)
  }
}
