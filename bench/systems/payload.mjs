// What every system carries: 200 bytes of JSON, the same for all.
const text = 'x'.repeat(189)

/** `sentAt` is there where the time until the start is measured; the rest shrinks by as much. */
export function makePayload(sentAt) {
  if (sentAt === undefined) return { text }
  const payload = { text: '', sentAt }
  return { text: text.slice(0, 200 - JSON.stringify(payload).length), sentAt }
}

export const makePayloads = (count) => Array.from({ length: count }, () => ({ text }))
