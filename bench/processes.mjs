// Worker processes, and how to talk with them.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('./worker.mjs', import.meta.url))

export async function startWorkerProcess(options, execArgv = []) {
  const child = fork(program, [JSON.stringify(options)], { execArgv, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const said = new Map()
  const heard = new Map()
  child.on('message', (message) => {
    const hear = heard.get(message.kind)
    if (hear) hear(message)
    else said.set(message.kind, message)
  })
  /** The next message of that kind, said already or not. */
  const hear = (kind) =>
    new Promise((resolve, reject) => {
      if (said.has(kind)) {
        resolve(said.get(kind))
        said.delete(kind)
        return
      }
      heard.set(kind, (message) => {
        heard.delete(kind)
        resolve(message)
      })
      child.once('exit', (code) => reject(new Error(`the worker process ended with ${code}`)))
    })
  await hear('ready')
  return {
    pid: child.pid,
    hear,
    ask(kind) {
      child.send(kind)
      return hear(kind)
    },
    async stop() {
      const gone = once(child, 'exit')
      child.send('stop')
      await gone
    },
  }
}
