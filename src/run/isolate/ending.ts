import type { Outcome } from '../../job/outcome.js'
import type { HostEnd } from './messages.js'

/** What the end of a host means for the attempt that ran in it. `alone`: in a process of its own, so it did it itself. */
export function outcomeOf(end: HostEnd, host: { kind: 'thread' | 'process'; memoryMb: number | null; alone: boolean }): Outcome {
  const { kind, alone } = host
  switch (end.how) {
    case 'out_of_memory':
      return { kind: 'out_of_memory', failure: outOfMemory(end.detail, host.memoryMb) }
    case 'exited':
      return crashed(
        'HostExited',
        `its ${kind} ended with exit code ${end.code} before the handler did: something called process.exit()`,
        alone,
      )
    case 'signalled':
      return crashed('HostKilled', `its process was ended by ${end.signal}${hints[end.signal] ?? ''}`, alone)
    case 'failed':
      return crashed('HostFailed', `its ${kind} failed: ${end.failure.name}: ${end.failure.message}`, alone)
    case 'supervisor_died':
      return outcomeOf(end.end, host)
  }
}

export function outOfMemory(detail: string, memoryMb: number | null): { name: string; message: string; code: string } {
  const cap = memoryMb === null ? '' : ` of ${memoryMb} MB`
  return { name: 'OutOfMemoryError', message: `the attempt went over its memory cap${cap}: ${detail}`, code: 'out_of_memory' }
}

const hints: Readonly<Record<string, string>> = {
  SIGKILL: ': the handler did it itself, or the system ran out of memory',
  SIGABRT: ': process.abort() or a fatal error in native code',
  SIGSEGV: ': a fault in native code',
  SIGILL: ': a fault in native code',
  SIGBUS: ': a fault in native code',
  SIGTRAP: ': a fatal error inside of V8',
}

function crashed(name: string, message: string, alone: boolean): Outcome {
  return { kind: 'crashed', failure: { name, message }, alone }
}
