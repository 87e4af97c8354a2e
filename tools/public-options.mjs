// Finds what the package takes as options: the parameters of its public functions and methods that are objects with optional members.
// It reads the declarations that the build writes, because these have neither private members nor what is marked as internal.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const dist = fileURLToPath(new URL('../dist/', import.meta.url))
const entries = ['.', 'worker', 'server', 'client', 'remote-worker', 'testing', 'dev']

const withoutComments = (text) => text.replace(/\/\*[\s\S]*?\*\//g, '')

/** The parts of a text between separators that stand in no bracket. */
function partsOf(text, separators) {
  const parts = ['']
  let depth = 0
  for (const [at, letter] of [...text].entries()) {
    if ('([{<'.includes(letter)) depth += 1
    if (')]}'.includes(letter) || (letter === '>' && text[at - 1] !== '=')) depth -= 1
    if (depth < 0) break
    if (depth === 0 && separators.includes(letter)) parts.push('')
    else parts[parts.length - 1] += letter
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '')
}

/** Every class, interface, type and function that the build declared, by its name. */
function declarations() {
  const found = new Map()
  for (const file of readdirSync(dist, { recursive: true }).filter((path) => path.endsWith('.d.ts'))) {
    const text = readFileSync(join(dist, file), 'utf8')
    const heads = [...text.matchAll(/^(?:export )?(?:declare )?(?:abstract )?(class|interface|function|type) (\w+)/gm)]
    for (const [nth, { 0: head, 1: kind, 2: name, index }] of heads.entries()) {
      const body = text.slice(index, heads[nth + 1]?.index)
      const base = /^[^{]* extends (\w+)/.exec(body)?.[1]
      found.set(name, [...(found.get(name) ?? []), { kind, name, base, body: withoutComments(body), head }])
    }
  }
  return found
}

/** `name(parameters)` of a declaration: of a function its own, of a class or an interface those of its methods. */
function signaturesOf({ kind, name, base, body }, all) {
  const at = (index) => partsOf(body.slice(index), ',').map(parameterOf).filter(Boolean)
  if (kind === 'function') return [{ call: name, parameters: at(body.indexOf('(') + 1) }]
  if (kind === 'type') return []
  const methods = [
    ...body.matchAll(/^ {4}(?:abstract )?(?:get |readonly )?(\w+)(?:\(\))?(?:<[^()]*?>)?(?:: (?:<[^()]*?>)?)?\((?!\))/gm),
  ]
  const own = methods.map((method) => ({ call: `${name}.${method[1]}`, parameters: at(method.index + method[0].length) }))
  const inherited = (all.get(base) ?? []).flatMap((one) => signaturesOf({ ...one, name }, all))
  return [...own, ...inherited]
}

function parameterOf(text) {
  const [, name, type] = /^(\w+|\{[^}]*\})\??:\s*([\s\S]*)$/.exec(text) ?? []
  return name && { name: name.startsWith('{') ? 'options' : name, type: type.replace(/\s+/g, ' ') }
}

/** Names of declared options that a type is made of, and its inline members. Undefined: it is no options object. */
function optionsIn(type, all) {
  const names = []
  const inline = []
  for (const part of partsOf(type, '|&')) {
    if (part.startsWith('{')) inline.push(...partsOf(part.slice(1), ';'))
    const wrapped = /^(?:Omit|Pick|Partial)<(\w+)/.exec(part)?.[1] ?? / in keyof (\w+)/.exec(part)?.[1]
    const name = wrapped ?? part.replace(/<.*/s, '')
    const declared = all.get(name)?.find(({ kind }) => kind === 'interface' || kind === 'type')
    const hasOptional = declared && /^ {4}(?:readonly )?\w+\?:/m.test(declared.body)
    if (hasOptional || /(?:Options|Query|Body|Change)$/.test(name)) names.push(name)
  }
  return names.length > 0 || inline.length > 0 ? { names, inline } : undefined
}

/** Every parameter of the public API that is an options object: `{ call: 'Schedules.prune', at: 1, name: 'options', names: [], inline: […] }`. */
export function publicOptions() {
  const all = declarations()
  const exported = entries.flatMap((entry) =>
    [...readFileSync(join(dist, entry, 'index.d.ts'), 'utf8').matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, names]) =>
      names.split(',').map((name) => name.trim().replace(/^type /, '')),
    ),
  )
  return [...new Set(exported)].flatMap((name) =>
    (all.get(name) ?? []).flatMap((declared) =>
      signaturesOf(declared, all).flatMap(({ call, parameters }) =>
        parameters.flatMap(({ name: parameter, type }, at) => {
          const options = optionsIn(type, all)
          return options ? [{ call, at, name: parameter, parameters: parameters.map((one) => one.name), ...options }] : []
        }),
      ),
    ),
  )
}
