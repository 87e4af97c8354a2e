/**
 * Loaded before a program: the host name database.test means this machine, and SIGUSR2 turns that off and on again. The name
 * then fails as a name server that is away makes it fail. Threads have their own copy, so the state is shared with them.
 */
import dns from 'node:dns'
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads'

if (isMainThread) setEnvironmentData('unresolvable', new SharedArrayBuffer(4))
const unresolvable = new Int32Array(getEnvironmentData('unresolvable'))
const lookup = dns.lookup

dns.lookup = (name, options, answer) => {
  if (name !== 'database.test') return lookup(name, options, answer)
  if (unresolvable[0] === 0) return lookup('127.0.0.1', options, answer)
  const error = new Error(`getaddrinfo ENOTFOUND ${name}`)
  setImmediate(answer, Object.assign(error, { errno: -3008, code: 'ENOTFOUND', syscall: 'getaddrinfo', hostname: name }))
}

if (isMainThread) {
  process.on('SIGUSR2', () => {
    unresolvable[0] = 1 - unresolvable[0]
    process.send?.({ said: unresolvable[0] === 1 ? 'unresolvable' : 'resolvable' })
  })
}
