import { defineType } from 'holdfast'
import { expect, test } from 'vitest'
import { reach } from '../support/cli.js'
import { eventually } from '../support/facts.js'
import { startHere } from '../support/worker-here.js'

const enter = '\u001b[?1049h\u001b[?25l'
const leave = '\u001b[?25h\u001b[?1049l'
const mail = defineType({ type: 'mail' })

/** A terminal whose keys and signals the test presses; how often it was taken and let go. */
function terminal() {
  const on: { key(key: string): void; stop(signal: string): void; resize(): void }[] = []
  const taken = { now: 0 }
  return {
    on,
    taken,
    live: {
      take(handlers: (typeof on)[number]) {
        on.push(handlers)
        taken.now++
        return () => void taken.now--
      },
    },
  }
}

test('holdfast top prints what waits, runs and is shut, the same over the database and over HTTP, and fits the terminal', async () => {
  const { queue, eachWay, database } = await reach()
  const { holdfast } = queue
  let release = () => {}
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const slow = defineType({ type: 'a_type_with_quite_a_long_name', run: () => held })
  await holdfast.registerTypes([mail, slow])
  await holdfast.flow.pauseType('mail', { by: 'ada', why: 'the server is slow' })
  await holdfast.enqueueMany([...Array(1_500).fill(mail.job({})), slow.job({}), mail.job({}, { delay: '1h' })])
  await startHere(queue, [slow])
  await eventually(async () => {
    await queue.sql(`update holdfast.depths_measured set measured_at = '-infinity'`)
    await queue.sql('select holdfast.measure_depths()')
    const { waiting, running, workers } = JSON.parse((await database(['top', '--json'])).out)
    return waiting === 1_500 && running === 1 && workers.length === 1
  })
  // Not compared with each other: a sample may come between the two.
  for (const type of [eachWay.database, eachWay.http]) {
    const whole = await type('top')
    expect(whole).toMatch(/^waiting 1,500 {3}running 1 {3}oldest \d+s {3}later 1 {3}blocked 0 {3}workers 1$/m)
    expect(whole).toMatch(/^! mail is paused by ada: the server is slow$/m)
    expect(whole).toMatch(/^mail +default +0 +1,500 +1 +\d+s +█{20}$/m)
    expect(whole).toMatch(/^a_type_with_quite_a_long_name +default +1 +0$/m)
  }
  for (const columns of [140, 80, 40, 20]) {
    const { out } = await database(['top', '--once'], { columns })
    for (const line of out.split('\n')) expect([...line].length, line).toBeLessThanOrEqual(columns)
    expect(out).toMatch(/^mail/m)
  }
  release()
})

test.each([
  ['q', (on: { key(key: string): void }) => on.key('q'), 0],
  ['SIGTERM', (on: { stop(signal: string): void }) => on.stop('SIGTERM'), 143],
] as const)('holdfast top draws over itself until %s, and leaves the terminal as it was', async (_name, end, expected) => {
  const { database } = await reach()
  const { live, on, taken } = terminal()
  let written = ''
  const ended = database(['top', '--interval', '500ms'], {
    columns: 80,
    live,
    watch: (text) => {
      written += text
    },
  })
  await eventually(() => written.split('\u001b[H').length > 2)
  const [first] = on as [(typeof on)[number]]
  first.resize()
  end(first as never)
  const { code } = await ended
  expect(code).toBe(expected)
  expect(taken.now).toBe(0)
  expect(written.startsWith(enter)).toBe(true)
  expect(written.endsWith(leave)).toBe(true)
  // It is never cleared as a whole, so nothing flickers.
  expect(written).not.toContain('\u001b[2J')
  expect(written).toContain('There are no workers.')
})

test('an interval that cannot be is refused, and a terminal is not taken for a database that is away', async () => {
  const { both, database } = await reach()
  expect(await both('top', '--interval', '1ms')).toMatch(/^1 holdfast: --interval is 1ms; it must be 500ms to 1h$/)
  const { live, on } = terminal()
  const away = await database(['top', '--database-url', 'postgres://ada@127.0.0.1:9/none'], { columns: 80, live })
  expect(away.code).toBe(1)
  expect(on).toEqual([])
})
