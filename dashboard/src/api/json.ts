/** A number that JavaScript cannot hold exactly, as it stands in the answer. */
export class ExactNumber {
  readonly source: string
  constructor(source: string) {
    this.source = source
  }
}

/** So many digits a double keeps, whatever the number. */
const safeDigits = 15

/** Reads JSON without changing a number: an id of 19 digits is shown, edited and sent back as it was stored. */
export function parseExactly(text: string): unknown {
  return JSON.parse(text, function keepExact(this: unknown, _key: string, value: unknown, context?: { source?: string }) {
    if (typeof value !== 'number' || context?.source === undefined || String(value) === context.source) return value
    return context.source.replace(/\D/g, '').length > safeDigits ? new ExactNumber(context.source) : value
  })
}

/** Writes JSON with every number as it was read. With `step`, over several lines, for people. */
export function writeExactly(value: unknown, step = '', indent = ''): string {
  if (value instanceof ExactNumber) return value.source
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  const deeper = indent + step
  const colon = step === '' ? ':' : ': '
  const parts = Array.isArray(value)
    ? value.map((one) => writeExactly(one, step, deeper))
    : Object.entries(value)
        .filter(([, one]) => one !== undefined)
        .map(([name, one]) => `${JSON.stringify(name)}${colon}${writeExactly(one, step, deeper)}`)
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  if (parts.length === 0) return `${open}${close}`
  if (step === '') return `${open}${parts.join(',')}${close}`
  return `${open}\n${deeper}${parts.join(`,\n${deeper}`)}\n${indent}${close}`
}
