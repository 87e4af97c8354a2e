// Everything the bench starts is started here, bounded in time and ended by its id.
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { benchNode } from './install.mjs'

const ownProgram = fileURLToPath(new URL('./program.mjs', import.meta.url))
const guardProgram = fileURLToPath(new URL('./guard.mjs', import.meta.url))
const closeWithinMs = 15_000

let guard
function tellGuard(message) {
  guard ??= spawn(process.execPath, [guardProgram], { stdio: ['pipe', 'ignore', 'inherit'] })
  guard.stdin.write(`${JSON.stringify(message)}\n`)
}
/** Ends that process, or the Postgres in that directory and the directory, should the bench not come to do so itself. */
export const guardProcess = (pid) => tellGuard({ pid })
export const guardDirectory = (directory) => tellGuard({ directory })
export const forgetProcess = (pid) => tellGuard({ pid, forget: true })
export const forgetDirectory = (directory) => tellGuard({ directory, forget: true })

/** The guard must see its input end and finish; only then is nothing left behind. */
export async function dismissGuard() {
  if (!guard) return
  const gone = once(guard, 'exit')
  guard.stdin.end()
  await gone
}

/** A process of one system, which does what it is called for. `program`: the one beside another build of Holdfast. */
export async function startProgram(system, url, { execArgv = [], program = ownProgram } = {}) {
  const child = fork(program, [JSON.stringify({ system, url })], {
    execPath: benchNode(),
    execArgv,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  guardProcess(child.pid)
  const waiting = new Map()
  let nextId = 1
  const answer = (id) => new Promise((resolve, reject) => waiting.set(id, { resolve, reject }))
  const ready = answer('ready')
  child.on('message', ({ id = 'ready', result, error }) => {
    const { resolve, reject } = waiting.get(id)
    waiting.delete(id)
    if (error) reject(new Error(`${system}: ${error}`))
    else resolve(result)
  })
  const gone = once(child, 'exit').then(([code, signal]) => {
    forgetProcess(child.pid)
    for (const { reject } of waiting.values()) reject(new Error(`the process of ${system} ended with ${signal ?? code}`))
    waiting.clear()
  })
  await ready
  return {
    system,
    call(name, args) {
      const id = nextId++
      const answered = answer(id)
      // Whoever was too late may still call a process that is gone: it is told, and the bench goes on.
      child.send({ id, call: name, args }, (error) => error && waiting.get(id)?.reject(error))
      return answered
    },
    /** In good order if it can be had in time. */
    async close() {
      const late = setTimeout(() => child.kill('SIGKILL'), closeWithinMs)
      await this.call('close').catch(() => child.kill('SIGKILL'))
      await gone
      clearTimeout(late)
    },
    async kill() {
      child.kill('SIGKILL')
      await gone
    },
  }
}
