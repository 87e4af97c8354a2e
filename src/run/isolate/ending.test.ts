import { describe, expect, it } from 'vitest'
import { outcomeOf } from './ending.js'

const host = { kind: 'process', memoryMb: 64, alone: true } as const

describe('what the end of a host means', () => {
  it('names the cap where it was the memory', () => {
    const outcome = outcomeOf({ how: 'out_of_memory', detail: 'its JavaScript heap was full' }, host)
    expect(outcome).toMatchObject({ kind: 'out_of_memory', failure: { code: 'out_of_memory' } })
    expect(outcome).toHaveProperty('failure.message', expect.stringContaining('64 MB'))
  })

  it.each([
    [{ how: 'exited', code: 0 }, /exit code 0.*process\.exit\(\)/],
    [{ how: 'signalled', signal: 'SIGSEGV' }, /SIGSEGV: a fault in native code/],
    [{ how: 'signalled', signal: 'SIGUSR2' }, /ended by SIGUSR2$/],
    [{ how: 'failed', failure: { name: 'Error', message: 'no room' } }, /its process failed: Error: no room/],
    [{ how: 'supervisor_died', end: { how: 'signalled', signal: 'SIGKILL' } }, /SIGKILL/],
  ] as const)('is a crash where it was not: %o', (end, message) => {
    expect(outcomeOf(end, host)).toMatchObject({ kind: 'crashed', alone: true })
    expect(outcomeOf(end, host)).toHaveProperty('failure.message', expect.stringMatching(message))
  })
})
