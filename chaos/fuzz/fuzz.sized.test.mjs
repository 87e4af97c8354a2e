import { expect, inject, test } from 'vitest'
import { sized } from '../../test/support/sized.js'
import { fuzzFor } from './fuzz.mjs'

/** The same sequences every time; the fault bench runs others, for longer. */
const seed = Number(process.env.HOLDFAST_FUZZ_SEED ?? 1)
const withinMs = sized({ sample: 2_500, whole: 60_000 })
const longest = sized({ sample: 12, whole: 60 })

test.each(['read committed', 'repeatable read'])(
  'sequences of everything that can be done keep every promise and leave nothing over, where transactions are %s',
  async (isolation) => {
    // Workers that are killed and frozen are for the fault bench: each costs seconds of waiting for a lease.
    const given = { isolation, seed, without: ['harm'], withinMs, longest, shrinkMs: 20_000 }
    const { runs, failure } = await fuzzFor({ serverUrl: inject('testUrl'), ...given })
    expect(failure?.violations, `npm run chaos -- fuzz --seed ${failure?.seed}\n${failure?.commands.join('\n')}`).toBeUndefined()
    expect(runs).toBeGreaterThan(0)
  },
  300_000,
)
