/** One span, named as in the W3C header `traceparent`: which trace, which span of it, and whether it is sampled. */
export interface SpanName {
  traceId: string
  spanId: string
  traceFlags: number
}

/** Of versions to come the first four fields are read, as the recommendation asks; ff is none. */
const form = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.{0,44})?$/

export function isTraceparent(text: string): boolean {
  return form.test(text)
}

export function readTraceparent(text: string | null | undefined): SpanName | undefined {
  const [, traceId, spanId, flags] = form.exec(text ?? '') ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) }
}

export function writeTraceparent({ traceId, spanId, traceFlags }: SpanName): string {
  return `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, '0')}`
}
