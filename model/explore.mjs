// One exploration by SPIN: it makes a C program of the model, the compiler a searcher of that, and the searcher visits every state.
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const model = fileURLToPath(new URL('queue.pml', import.meta.url))

/** Far more than any run has been deep. A search that gets there is not whole, and SPIN says so. */
const depth = 20_000

/**
 * @typedef {{ set: Record<string, number>, defect?: string, liveness: boolean, minutes: number, megabytes: number }} Wanted
 * @typedef {{ caught: string | undefined, whole: boolean, states: number, depth: number, seconds: number, megabytes: number, output: string }} Explored
 * @param {Wanted} wanted liveness: also look for a run that goes on for ever. Twice the states.
 * @returns {Promise<Explored>} caught: the invariant that does not hold
 */
export async function explore({ set, defect, liveness, minutes, megabytes }) {
  const folder = await mkdtemp(join(tmpdir(), 'holdfast-model-'))
  try {
    const defines = Object.entries(set).map(([name, value]) => `-D${name}=${value}`)
    await run('spin', ['-a', ...defines, ...(defect ? [`-D${defect}`] : []), model], { cwd: folder })
    // A defect is found after few states: then compiling well costs more than it saves. No reduction: every state is visited and kept whole.
    const how = [defect ? '-O0' : '-O1', '-w', '-DNOREDUCE', liveness ? '-DNP' : '-DSAFETY', `-DMEMLIM=${megabytes}`]
    await run('cc', [...how, '-o', 'pan', 'pan.c'], { cwd: folder })
    const began = performance.now()
    const { stdout } = await run('./pan', [`-m${depth}`, defect ? '-w20' : '-w24', ...(liveness ? ['-l'] : [])], {
      cwd: folder,
      timeout: minutes * 60_000,
      maxBuffer: 64 << 20,
    }).catch((error) => (error.stdout && !error.killed ? error : Promise.reject(error)))
    return { ...read(stdout), seconds: (performance.now() - began) / 1000, output: stdout }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** @param {string} output what the searcher prints */
export function read(output) {
  const violated = /^pan:\d+: (.*)$/m.exec(output)?.[1]
  const number = (pattern) => Number(pattern.exec(output)?.[1] ?? 0)
  return {
    caught: violated === undefined ? undefined : invariantIn(violated),
    // It says so itself where it left something out: no memory, no depth, an interrupted search.
    whole: /errors: 0/.test(output) && !/Search not completed|max search depth too small|out of memory/i.test(output),
    states: number(/^\s*([\d.e+]+) states, stored/m),
    depth: number(/depth reached (\d+)/),
    megabytes: number(/([\d.]+)\s+total actual memory usage/),
  }
}

/** An assertion ends with the name of its invariant. A run that never ends leaves a job without an end. */
function invariantIn(violated) {
  if (violated.startsWith('non-progress cycle')) return 'I2'
  return /\|\|(I\d+|PAUSE)\)/.exec(violated)?.[1] ?? violated
}
