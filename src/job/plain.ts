/** What to write instead of the things people most often put into a payload, by the name of their class. */
const instead: Readonly<Record<string, string>> = {
  Date: 'date.toISOString()',
  Map: 'Object.fromEntries(map)',
  Set: '[...set]',
  Buffer: "buffer.toString('base64')",
  Uint8Array: "Buffer.from(bytes).toString('base64')",
  ArrayBuffer: "Buffer.from(bytes).toString('base64')",
  URL: 'url.href',
  RegExp: 'regexp.source',
  Promise: 'await promise',
  Error: '{ name, message }',
  String: 'value.valueOf()',
  Number: 'value.valueOf()',
  Boolean: 'value.valueOf()',
  BigInt: 'String(value)',
  Array: '[...list]',
}

/** Made by a literal, by JSON.parse or by Object.create(null); also in another realm, as under Jest and in vm contexts. */
export function isPlainObject(value: object): boolean {
  const proto: object | null = Object.getPrototypeOf(value)
  return proto === Object.prototype || proto === null || isObjectPrototype(proto)
}

/** The prototype of all arrays is an array itself, in every realm; that of a subclass is not. */
export function isPlainArray(value: readonly unknown[]): boolean {
  const proto: object | null = Object.getPrototypeOf(value)
  return proto === Array.prototype || (Array.isArray(proto) && isObjectPrototype(Object.getPrototypeOf(proto)))
}

/** 'is a Date, not plain data; use date.toISOString()'. May throw where a Proxy does. */
export function describeForeign(value: object): string {
  let name = ''
  let proto: object | null = value
  // Five steps, because a Proxy can answer with ever new prototypes.
  for (let step = 0; step < 5; step++) {
    proto = Object.getPrototypeOf(proto) as object | null
    if (proto === null) break
    const own: unknown = (proto as { constructor?: { name?: unknown } }).constructor?.name
    if (typeof own !== 'string') continue
    name ||= own.slice(0, 100)
    if (Object.hasOwn(instead, own)) return `is a ${name}, not plain data; use ${instead[own]}`
  }
  const what = name === '' || name === 'Object' ? 'an object with a prototype of its own' : `an instance of ${name}`
  return `is ${what}, not plain data; use a plain object such as { ...value }`
}

function isObjectPrototype(proto: object | null): boolean {
  return proto !== null && Object.getPrototypeOf(proto) === null && Object.hasOwn(proto, 'isPrototypeOf')
}
