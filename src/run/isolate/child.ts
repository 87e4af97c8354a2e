import { type ChildProcess, spawn } from 'node:child_process'
import { type HostEnd, type LastWords, lastWordsFd } from './messages.js'

export interface ChildEvents<From> {
  message(message: From): void
  ended(end: Exclude<HostEnd, { how: 'supervisor_died' }>): void
}

export interface Child<To> {
  send(message: To): void
  kill(): void
}

const tailKept = 8_192
/** The pipes of a dead process may stay open in the hands of a grandchild; nobody waits for that. */
const pipesCloseWithinMs = 500
/** What V8 writes before it aborts because of memory. There is nothing else to tell it from another abort. */
const heapFull = /FATAL ERROR: .*(heap out of memory|Allocation failed)|OutOfMemory|process out of memory/i

/** How V8's own report of its death begins. It is for those who debug V8; how the process ended is told in one line of the log. */
const nativeReport = /\n?<--- Last few GCs --->|FATAL ERROR: |----- Native stack trace -----/

/** Flags of the worker's own Node that the handlers may need as well. Others, like --inspect or --eval, are its alone. */
const passedOn = /^(--import|--require|-r|--loader|--experimental-loader|--conditions|-C)$/
const passedOnWhole =
  /^(--(import|require|loader|experimental-loader|conditions)=|--enable-source-maps|--experimental-(strip|transform)-types)/

/**
 * Starts a process of Node that runs a file with its arguments, limited in heap and data memory, and tells how it ended.
 * The data limit is what the system itself enforces, so it holds between two looks of the watch. It counts memory that
 * is really writable; a limit on the address space would count what V8 reserves and never touches (0.7 GB and more).
 */
export function startChild<To extends object, From>(
  program: readonly string[],
  limits: { heapMb: number | null; dataMb: number | null },
  events: ChildEvents<From>,
): Child<To> {
  const flags = limits.heapMb === null ? [] : [`--max-old-space-size=${limits.heapMb}`]
  const node = [process.execPath, ...inherited(), ...flags, ...program]
  const command =
    limits.dataMb === null || process.platform === 'win32'
      ? node
      : ['/bin/sh', '-c', 'ulimit -d "$0" 2>/dev/null; exec "$@"', String(limits.dataMb * 1_024), ...node]
  const child = spawn(command[0] as string, command.slice(1), {
    stdio: ['ignore', 'inherit', 'pipe', 'ipc', 'pipe'],
    windowsHide: true,
  })

  let tail = ''
  let words = ''
  let dying = false
  child.stderr?.on('data', (data: Buffer) => {
    const text = data.toString('latin1')
    const reportAt = text.search(nativeReport)
    if (!dying) process.stderr.write(reportAt < 0 ? data : data.subarray(0, reportAt))
    dying ||= reportAt >= 0
    tail = (tail + text).slice(-tailKept)
  })
  child.stdio[lastWordsFd]?.on('data', (data: Buffer) => {
    words += data.toString()
  })
  child.on('message', (message) => events.message(message as From))
  child.on('disconnect', () => child.kill('SIGKILL'))
  onceEnded(child, (code, signal, problem) => events.ended(endOf(code, signal, problem, tail, words)))
  return {
    send: (message) => {
      // A child that is gone cannot be told anything; that it is gone is told by its end.
      if (child.connected) child.send(message, () => {})
    },
    kill: () => void child.kill('SIGKILL'),
  }
}

function onceEnded(child: ChildProcess, done: (code: number | null, signal: string | null, problem?: Error) => void): void {
  let told = false
  const tell = (code: number | null, signal: string | null, problem?: Error): void => {
    if (told) return
    told = true
    done(code, signal, problem)
  }
  child.on('error', (problem) => child.pid === undefined && tell(null, null, problem))
  child.on('close', (code, signal) => tell(code, signal))
  child.on('exit', (code, signal) => void setTimeout(() => tell(code, signal), pipesCloseWithinMs).unref())
}

function endOf(
  code: number | null,
  signal: string | null,
  problem: Error | undefined,
  tail: string,
  words: string,
): Exclude<HostEnd, { how: 'supervisor_died' }> {
  if (problem)
    return { how: 'failed', failure: { name: problem.name, message: `no process could be started: ${problem.message}` } }
  if (words !== '') {
    const { usedMb } = JSON.parse(words) as LastWords
    return { how: 'out_of_memory', detail: `the whole process used ${usedMb} MB` }
  }
  const aborted = signal === 'SIGABRT' || signal === 'SIGTRAP' || signal === 'SIGILL' || code === 134
  if (aborted && heapFull.test(tail)) return { how: 'out_of_memory', detail: 'its JavaScript heap was full' }
  return signal === null ? { how: 'exited', code: code ?? 0 } : { how: 'signalled', signal }
}

/** Of the worker's own flags those that a thread or process of handlers gets as well. */
export function inherited(flags: readonly string[] = process.execArgv): string[] {
  return flags.filter((flag, at) => passedOnWhole.test(flag) || passedOn.test(flag) || passedOn.test(flags[at - 1] ?? ''))
}
