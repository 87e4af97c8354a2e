import { expect, test } from 'vitest'
import { eventually } from '../support/facts.js'
import { moveClock, wrongClock } from '../support/moving-clock.js'
import { makeQueue, work } from '../support/queue.js'

/** The clocks of the hosts: one is right, and two are wrong. */
const hostsAheadMs = [0, 7_200_000, -7_200_000]

test('three schedulers with wrong clocks under kills, freezes and a clock that jumps ahead and back make exactly one job of each tick', async () => {
  const queue = await makeQueue()
  const operator = await queue.connect()
  await queue.holdfast.schedules.create(
    { name: 'each-second', type: work, every: '1s', missed: { all: 1_000 } },
    { by: 'ada', why: 'a test' },
  )
  const workers = await Promise.all(hostsAheadMs.map((aheadMs) => queue.worker({}, {}, { args: wrongClock(aheadMs) })))
  const ticks = async () => Number((await queue.sql('select count(*) from holdfast.ticks'))[0]?.count)
  const more = async (than: number) => {
    const before = await ticks()
    await eventually(async () => (await ticks()) >= before + than, { within: 60_000 })
  }
  const [first, second] = workers as [(typeof workers)[0], (typeof workers)[0]]
  await more(2)
  second.freeze()
  await moveClock(operator, '10 minutes')
  await more(300)
  await first.kill()
  const third = await queue.worker({}, {}, { args: wrongClock(7_200_000) })
  second.thaw()
  await more(2)
  await moveClock(operator, '9 minutes 40 seconds')
  await third.kill()
  // Twenty seconds come again, which have their ticks; the first that has none comes after them.
  const back = await ticks()
  await eventually(
    async () =>
      (await queue.sql("select from holdfast.schedules where handled_to < holdfast.now() + interval '1 second'")).length === 1,
  )
  expect(await ticks()).toBe(back)
  await moveClock(operator, '20 minutes')
  await more(600)

  const jobs = await queue.sql(`
    select count(*)::integer as jobs, count(distinct scheduled_for)::integer as ticks,
           extract(epoch from max(scheduled_for) - min(scheduled_for))::integer + 1 as seconds from holdfast.bodies`)
  const [{ jobs: made, ticks: different, seconds } = { jobs: 0, ticks: 0, seconds: 0 }] = jobs as {
    jobs: number
    ticks: number
    seconds: number
  }[]
  // No tick has two jobs, and none between the first and the last has none.
  expect({ made, different }).toEqual({ made: seconds, different: seconds })
  expect(made).toBeGreaterThan(1_000)
  expect(await queue.sql('select from holdfast.ticks where job_id is null')).toEqual([])
  // None was fired by the clock of a host; one that was decided before the clock was set back may be written after that.
  expect(await queue.sql("select from holdfast.ticks where tick > at + interval '20 seconds'")).toEqual([])
}, 180_000)
