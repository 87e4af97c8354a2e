import { describe, expect, it } from 'vitest'
import { defaultBackoff } from '../job/retry.js'
import { decide } from './decide.js'

const failure = { name: 'HostKilled', message: 'its process was ended by SIGKILL' }
const crash = (attempt: number) => ({ attempt, at: new Date(0), message: `crash ${attempt}` })
const crashed = (alone: boolean) => ({ kind: 'crashed', failure, alone }) as const
const random = () => 0

describe('a crash', () => {
  it('is retried while it may be another job that did it, or the first time', () => {
    const job = { attempt: 1, maxAttempts: 5 }
    expect(decide(crashed(true), job, defaultBackoff, random)).toMatchObject({ move: 'retry', outcome: 'crashed' })
    const suspect = { attempt: 3, maxAttempts: 5, crashes: [crash(1), crash(2)] }
    expect(decide(crashed(false), suspect, defaultBackoff, random)).toMatchObject({ move: 'retry', outcome: 'crashed' })
  })

  it('makes a job poison that was alone at the last of too many, with a line for each', () => {
    const job = { attempt: 2, maxAttempts: 5, crashes: [crash(1)] }
    const settlement = decide(crashed(true), job, defaultBackoff, random)
    expect(settlement).toMatchObject({ move: 'poison', outcome: 'crashed', delayMs: null })
    expect(settlement.failure?.crashes).toEqual([
      'attempt 1, 1970-01-01T00:00:00.000Z: crash 1',
      'attempt 2: its process was ended by SIGKILL',
    ])
    expect(decide(crashed(true), job, defaultBackoff, random, 3).move).toBe('retry')
  })

  it('at the last attempt ends the job as poison after too many, and as exhausted otherwise', () => {
    expect(decide(crashed(false), { attempt: 2, maxAttempts: 2, crashes: [crash(1)] }, defaultBackoff, random).move).toBe(
      'poison',
    )
    expect(decide(crashed(false), { attempt: 2, maxAttempts: 2 }, defaultBackoff, random).move).toBe('exhaust')
  })
})

describe('memory', () => {
  it('is retried and ends exhausted, as a timeout does: the cap did its work and nothing crashed', () => {
    const outcome = { kind: 'out_of_memory', failure } as const
    expect(decide(outcome, { attempt: 1, maxAttempts: 2 }, defaultBackoff, random).move).toBe('retry')
    const last = { attempt: 2, maxAttempts: 2, crashes: [crash(1)] }
    expect(decide(outcome, last, defaultBackoff, random)).toMatchObject({ move: 'exhaust', outcome: 'out_of_memory' })
  })
})
