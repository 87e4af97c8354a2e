import { sleep } from '../clock.js'

/** Reads pages one after the other. The library and the client over HTTP read events by it. */
export function followPages<Event extends { cursor: string }>(
  read: (after: string | undefined) => Promise<{ events: Event[]; next: string; more: boolean }>,
  { after, pollMs, signal }: { after: string | undefined; pollMs: number; signal: AbortSignal | undefined },
): AsyncIterable<Event> & { readonly cursor: string | undefined } {
  let cursor = after === 'now' ? undefined : after
  async function* events() {
    let from = after
    while (!signal?.aborted) {
      const page = await read(from)
      for (const event of page.events) {
        // The loop has dealt with an event when it asks for the one after it.
        yield event
        cursor = event.cursor
        if (signal?.aborted) return
      }
      from = page.next
      cursor = page.next
      if (!page.more) await sleep(pollMs, signal ? { signal } : {})
    }
  }
  return {
    [Symbol.asyncIterator]: events,
    get cursor() {
      return cursor
    },
  }
}
