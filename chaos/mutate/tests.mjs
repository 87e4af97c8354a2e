// Which tests a mutant is given first: those that its function concerns, by the names of the function and of those that call it.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../', import.meta.url))
const folders = ['journeys', 'store', 'server', 'members', 'cli']

/** Tests of the sources' texts would kill every mutant, those of plans and costs some of them, and neither says that the queue does wrong. */
const ofTexts = /contracts|function-files|published|explicit-arguments|plan|cost|managed|schemas|view/

/** What a sequence of every kind of work goes through, whatever else it is about. */
const core = [
  'claims',
  'settle',
  'rescue',
  'moves',
  'uniqueness',
  'workflows',
  'batches',
  'schedules',
  'steps',
  'dead-letters',
].map((name) => `test/journeys/${name}.test.ts`)

export function testFiles() {
  return folders
    .flatMap((folder) => readdirSync(join(root, 'test', folder)).map((file) => `test/${folder}/${file}`))
    .filter((path) => path.endsWith('.test.ts') && !/\.(long|sized)\.test/.test(path) && !ofTexts.test(path))
}

/** For each function its tests in rounds: those it concerns most, others that it concerns and the core; with `whole` all the others. */
export function chooser(functions, whole) {
  const files = testFiles().map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
  const callers = callersOf(functions)
  return ({ name, file }) => {
    const words = new Map()
    const say = (text, weight) => {
      for (const word of stems(text)) words.set(word, Math.max(words.get(word) ?? 0, weight))
    }
    say(file, 3)
    say(name, 3)
    const above = callers(name)
    for (const caller of above) say(caller, 1)
    const score = ({ path, text }) => {
      let sum = text.includes(`holdfast.${name}(`) ? 30 : 0
      for (const caller of above) if (text.includes(`holdfast.${caller}(`)) sum += 5
      for (const [word, weight] of words) sum += (path.includes(word) ? 5 * weight : 0) + (text.includes(word) ? weight : 0)
      return sum
    }
    const byScore = files.map((test) => ({ path: test.path, score: score(test) })).sort((a, b) => b.score - a.score)
    const ranked = byScore.map(({ path }) => path)
    const first = ranked.slice(0, 5)
    const second = [...new Set([...ranked.slice(5, 12), ...core])].filter((path) => !first.includes(path))
    const rest = ranked.filter((path) => !first.includes(path) && !second.includes(path))
    return whole ? [first, second, rest] : [first, second]
  }
}

const common = new Set(['jobs', 'from', 'with', 'holdf', 'what', 'that'])

function stems(text) {
  return text
    .replace('.sql', '')
    .split('_')
    .map((word) => word.slice(0, 5))
    .filter((word) => word.length > 3 && !common.has(word))
}

/** Whoever calls a function, and whoever calls those. */
function callersOf(functions) {
  const direct = new Map()
  for (const { name, pieces } of functions)
    for (const { tree } of pieces)
      for (const called of callsIn(tree)) direct.set(called, (direct.get(called) ?? new Set()).add(name))
  return (name) => {
    const found = new Set()
    const ask = (one) => {
      for (const caller of direct.get(one) ?? []) {
        if (found.has(caller)) continue
        found.add(caller)
        ask(caller)
      }
    }
    ask(name)
    found.delete(name)
    return found
  }
}

function* callsIn(node) {
  if (node === null || typeof node !== 'object') return
  if (node.FuncCall) yield node.FuncCall.funcname.at(-1).String.sval
  for (const value of Object.values(node)) yield* callsIn(value)
}
