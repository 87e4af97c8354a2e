import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { repository } from './source.js'

/** A name that the build declares, and the text of its declaration without comments. */
export interface Declared {
  name: string
  file: string
  text: string
}

interface DeclarationFile {
  /** What it takes from other files of ours, by the name it has here. */
  imports: Map<string, { name: string; file: string }>
  /** Several declarations of one name are one text. */
  declarations: Map<string, string>
}

const dist = join(repository, 'dist')
const files = new Map<string, DeclarationFile>()

/** Everything that an entry (`worker/`) exports. */
export function exportsOf(entry: string): Declared[] {
  const index = join(dist, entry, 'index.d.ts')
  return [...readDeclarations(index).imports.keys()].map((name) => {
    const found = declared(name, index)
    if (!found) throw new Error(`${index} exports ${name}, which is declared nowhere`)
    return found
  })
}

/** A class, an interface, a type, a function or a constant by its name in a file, wherever that takes it from. */
export function declared(name: string, file: string): Declared | undefined {
  const { imports, declarations } = readDeclarations(file)
  const text = declarations.get(name)
  if (text !== undefined) return { name, file, text }
  const from = imports.get(name)
  return from && declared(from.name, from.file)
}

/**
 * Everything of ours that the text of a declaration names. Where that is a base, a constant, or a type that computes one from others,
 * nobody has to write its name, so it stands for what it names itself; what it only compares with does not count.
 */
export function namedBy({ name: own, file, text }: Declared, seen: ReadonlySet<string> = new Set()): Declared[] {
  const code = text.replace(/'(?:[^'\\\n]|\\.)*'/g, "''").replace(/\bimport\(''\)\./g, '')
  const words = seen.size > 0 && isComputed(code) ? code.replace(/\bextends (?:readonly )?\w+/g, '') : code
  const [head = ''] = /^(?:export )?(?:declare )?(?:abstract )?(?:class|interface) [^{]*/.exec(words) ?? []
  const bases = new Set([...(/\bextends\b(.*)$/s.exec(head)?.[1] ?? '').matchAll(/\w+/g)].map(([name]) => name))
  // Names of members and parameters have a colon behind them.
  const names = new Set([...words.matchAll(/(?<![.\w])[A-Za-z_]\w*\b(?!\??:|\?\()/g)].map(([name]) => name))
  return [...names].flatMap((name) => {
    const found = name === own ? undefined : declared(name, file)
    const key = found && `${found.file} ${found.name}`
    if (!found || seen.has(key as string)) return []
    return bases.has(name) || isComputed(found.text) ? namedBy(found, new Set([...seen, key as string])) : [found]
  })
}

const isComputed = (text: string) => /^(?:export )?(?:declare )?(?:const|type \w+<)/.test(text)

function readDeclarations(file: string): DeclarationFile {
  const known = files.get(file)
  if (known) return known
  const text = readFileSync(file, 'utf8').replace(/\/\*[\s\S]*?\*\//g, '')
  const imports = new Map<string, { name: string; file: string }>()
  const taken = /^(?:import|export) (?:type )?\{([^}]*)\} from '([^']+)';?$/gm
  for (const [, list = '', from = ''] of text.matchAll(taken)) {
    if (!from.startsWith('.')) continue
    for (const one of list.split(',').map((name) => name.trim().replace(/^type /, ''))) {
      if (one === '') continue
      const [name = '', as = name] = one.split(' as ')
      imports.set(as, { name, file: join(dirname(file), from.replace(/\.js$/, '.d.ts')) })
    }
  }
  const declarations = new Map<string, string>()
  const rest = text.replace(taken, '')
  const heads = [...rest.matchAll(/^(?:export )?(?:declare )?(?:abstract )?(?:class|interface|type|function|const) (\w+)/gm)]
  for (const [at, { 1: name = '', index }] of heads.entries()) {
    declarations.set(name, (declarations.get(name) ?? '') + rest.slice(index, heads[at + 1]?.index))
  }
  const read = { imports, declarations }
  files.set(file, read)
  return read
}
