// bench/results/latest.json: what each group was measured to be, when, on which code and beside how much other work. A group is written
// down as soon as it has been measured, so an interrupted run loses one at most.
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { judge } from './judge.mjs'

const latest = new URL('results/latest.json', import.meta.url)

/** The results so far; those of another machine or other settings are no part of them, because ratios would compare the machines. */
export function readResults(place, file = latest) {
  try {
    const { groups = {}, ...earlier } = JSON.parse(readFileSync(file, 'utf8'))
    return { ...place, groups: isSamePlace(earlier, place) ? groups : {} }
  } catch (error) {
    if (error.code === 'ENOENT' || error instanceof SyntaxError) return { ...place, groups: {} }
    throw error
  }
}

const isSamePlace = (a, b) => isDeepStrictEqual(placeOf(a), placeOf(b))
/** Its kernel may be replaced. */
const placeOf = ({ machine, settings }) => ({ cpu: machine?.cpu, cores: machine?.cores, memoryGb: machine?.memoryGb, settings })

/** A result without the measurement of that group before, in the order of the groups. */
export function withGroup(results, groups, name, measured) {
  const all = { ...results.groups, [name]: measured }
  const ordered = groups.filter((group) => all[group.name]).map((group) => [group.name, all[group.name]])
  return { ...results, groups: Object.fromEntries(ordered) }
}

/** Whether a group need not be measured again: the same code, the same size, nothing missing. */
export function isMeasured(results, group, { tree, run, size }) {
  const found = results.groups[group.name]
  if (!found || tree === undefined) return false
  return isDeepStrictEqual([found.tree, found.run, found.size], [tree, run, size]) && found.problems.length === 0
}

/** The rows of all that was measured, judged by today's bars, each with the code it was measured on. */
export function rowsOf(results, groups) {
  return groups.flatMap((group) => {
    const found = results.groups[group.name]
    if (!found) return []
    const { date, commit, tree, run, size, others } = found
    return group.rows.map((row) => ({ ...judge(row, size, found.figures), size, measured: { date, commit, tree, run, others } }))
  })
}

export function writeResults(results, rows, file = latest) {
  mkdirSync(new URL('.', file), { recursive: true })
  const text = JSON.stringify({ ...results, rows }, rounded, 2)
  // Whoever is killed meanwhile must not leave half of it.
  const beside = new URL(`${file.href}.tmp`)
  writeFileSync(beside, `${text}\n`)
  renameSync(beside, file)
}

/** More digits than were measured would only make two runs hard to compare. */
function rounded(_key, value) {
  return typeof value === 'number' && !Number.isInteger(value) ? Number(value.toPrecision(5)) : value
}
