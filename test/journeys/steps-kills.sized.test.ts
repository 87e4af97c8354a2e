import { readFileSync } from 'node:fs'
import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { runProgram } from '../support/processes.js'
import { makeQueue } from '../support/queue.js'
import { sized } from '../support/sized.js'

const worker = { lease: '2s' }

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
}, 240_000)

/** Which step of another kind is killed, and when: before it, when it is stored and the end of its attempt is not, after it. */
const kindKills = sized({
  sample: [
    { step: 'once', when: 'inside' },
    { step: 'sleep', when: 'inside' },
    { step: 'wait', when: 'after' },
  ],
  whole: ['once', 'sleep', 'wait'].flatMap((step) => moments.map((when) => ({ step, when }))),
})
const sleepMs = 300

test('a worker that is killed at a once, a sleep or a wait for a signal: one key, one sleep, one signal', async () => {
  const queue = await makeQueue()
  const file = queue.ledger.beside('kinds')
  const types = kindKills.map(({ step, when }) => `${step}_${when}`)
  const jobs = await queue.holdfast.enqueueMany(types.map((type) => defineType({ type }).job({})))
  const ids = jobs.map(({ id }) => id)
  const settings = { database: queue.url, file, handler: 'kinds', worker }
  const sendTwo = async (id: string) => {
    for (const value of ['first', 'second']) await queue.holdfast.signal(id, 'go', value)
  }
  // What is killed behind its wait needs the signals; where the wait itself is killed, none has come.
  const early = (at: number) => types[at] === 'wait_after'
  for (const [at, id] of ids.entries()) if (early(at)) await sendTwo(id)
  const killed = kindKills.map((kill, at) => runProgram('steps-program', { ...settings, types: [types[at]], kill }))
  for (const program of killed) expect((await program.exited).signal).toBe('SIGKILL')
  for (const [at, id] of ids.entries()) if (!early(at)) await sendTwo(id)
  runProgram('steps-program', { ...settings, types })
  for (const id of ids) expect(await queue.holdfast.wait(id, { timeout: '60s' })).toEqual({ key: `${id}:once`, signal: 'first' })

  const lines = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
  for (const [at, id] of ids.entries()) {
    const about = (what: string) => lines.filter(([type, word]) => type === types[at] && word === what).map(([, , said]) => said)
    // The one whose effect was there and whose result was not stored yet runs again, with the same key.
    expect(about('once')).toEqual(Array(types[at] === 'once_inside' ? 2 : 1).fill(`${id}:once`))
    expect(Number(about('woke')[0]) - Number(about('sleep')[0])).toBeGreaterThanOrEqual(sleepMs)
    const story = await queue.holdfast.job(id)
    expect(story?.steps.map(({ name, kind, state }) => `${kind} ${name} ${state}`)).toEqual([
      'once once completed',
      'sleep sleep completed',
      'signal go completed',
      'step last completed',
    ])
    expect(story?.signals.map(({ payload, delivered }) => [payload, delivered])).toEqual([
      ['first', true],
      ['second', false],
    ])
  }
}, 240_000)
