import type { Checker } from '../job/checker.js'
import { didYouMean } from '../job/nearest.js'
import { rootsOf } from './condition.js'
import type { GraphTask } from './graph.js'

/** The name a condition reads the execution's input by, so no task can have it. */
export const inputName = 'input'

/** Finds parents that are not there, cycles, and conditions that read what they cannot. `encrypted`: tasks whose results the database cannot read. */
export function checkGraph(check: Checker, tasks: readonly GraphTask[], encrypted: ReadonlySet<string>): void {
  const names = new Set(tasks.map(({ name }) => name))
  for (const task of tasks) {
    for (const parent of task.after.filter((name) => !names.has(name))) {
      const problem = `names ${JSON.stringify(parent)}, which is no task${didYouMean(parent, [...names])}`
      check.wrong(['tasks', task.name, 'after'], problem)
    }
    for (const field of ['if', 'each'] as const) checkPath(check, task, field, encrypted)
  }
  const cycle = cycleIn(tasks)
  if (cycle) check.wrong('tasks', `wait for each other in a circle: ${cycle.join(' → ')}`)
}

function checkPath(check: Checker, task: GraphTask, field: 'if' | 'each', encrypted: ReadonlySet<string>): void {
  const path = task[field]
  if (path === undefined) return
  const readable = [inputName, ...task.after]
  const at = ['tasks', task.name, field]
  const roots = rootsOf(path)
  if (roots.length === 0) check.wrong(at, `reads nothing; it begins with ${readable.map((name) => `$.${name}`).join(' or ')}`)
  for (const name of roots) {
    if (!readable.includes(name)) {
      const what = name === '' ? 'the whole document or a variable' : `$.${name}`
      check.wrong(
        at,
        `reads ${what}; it can read ${readable.map((known) => `$.${known}`).join(', ')}${didYouMean(name, readable)}`,
      )
    } else if (encrypted.has(name)) {
      check.wrong(at, `reads $.${name}, which is encrypted, and the database that has to decide by it has no keys`)
    }
  }
}

/** The names along one cycle, the first of them at both ends; undefined: there is none. */
export function cycleIn(tasks: readonly GraphTask[]): string[] | undefined {
  const parents = new Map(tasks.map(({ name, after }) => [name, after]))
  const waits = new Map(tasks.map(({ name, after }) => [name, after.filter((parent) => parents.has(parent)).length]))
  const children = new Map<string, string[]>(tasks.map(({ name }) => [name, []]))
  for (const { name, after } of tasks) for (const parent of after) children.get(parent)?.push(name)
  const free = [...waits].filter(([, count]) => count === 0).map(([name]) => name)
  for (let name = free.pop(); name !== undefined; name = free.pop()) {
    waits.delete(name)
    for (const child of children.get(name) ?? []) {
      const left = (waits.get(child) ?? 0) - 1
      waits.set(child, left)
      if (left === 0) free.push(child)
    }
  }
  const [start] = waits.keys()
  if (start === undefined) return undefined
  // Whoever is left waits for one that is left; going from parent to parent must come back.
  const walked: string[] = []
  for (let at = start; !walked.includes(at); ) {
    walked.push(at)
    at = (parents.get(at) ?? []).find((parent) => waits.has(parent)) as string
    if (walked.includes(at)) return [...walked.slice(walked.indexOf(at)), at].reverse()
  }
  return undefined
}
