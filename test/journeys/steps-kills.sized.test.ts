import { readFileSync } from 'node:fs'
import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { runProgram } from '../support/processes.js'
import { makeQueue } from '../support/queue.js'
import { sized } from '../support/sized.js'

/** At which of ten steps a worker is killed, and when: before its effect, between that and the write, after both. */
const moments = ['before', 'inside', 'after'] as const
const kills = sized({
  sample: moments.map((when, at) => ({ step: [1, 5, 10][at] as number, when })),
  whole: Array.from({ length: 10 }, (_, at) => moments.map((when) => ({ step: at + 1, when }))).flat(),
})
const atOnce = 5

test('a worker that is killed at any step of ten never makes a stored one run again, and none is left out', async () => {
  const queue = await makeQueue()
  const file = queue.ledger.beside('steps')
  const types = kills.map(({ step, when }) => `ten_${step}_${when}`)
  const jobs = await queue.holdfast.enqueueMany(types.map((type) => defineType({ type }).job({})))
  const worker = { lease: '2s' }
  const settings = { database: queue.url, file, worker }
  for (let from = 0; from < kills.length; from += atOnce) {
    const killed = kills
      .slice(from, from + atOnce)
      .map((kill, at) => runProgram('steps-program', { ...settings, types: [types[from + at]], kill }))
    for (const program of killed) expect((await program.exited).signal).toBe('SIGKILL')
  }
  runProgram('steps-program', { ...settings, types })
  const squares = Array.from({ length: 10 }, (_, at) => (at + 1) ** 2)
  for (const { id } of jobs) expect(await queue.holdfast.wait(id, { timeout: '60s' })).toEqual(squares)
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  for (const [at, { step, when }] of kills.entries()) {
    for (let n = 1; n <= 10; n++) {
      // The one whose effect was there and whose result was not stored yet is the only one that may run again.
      const runs = lines.filter((line) => line === `${types[at]} ${n}`).length
      expect(runs, `step ${n} of the job killed ${when} step ${step}`).toBe(n === step && when === 'inside' ? 2 : 1)
    }
  }
}, 120_000)
