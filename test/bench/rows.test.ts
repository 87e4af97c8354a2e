import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { repository } from '../support/source.js'

/** The bench itself takes minutes and peers; that its rows name what exists and are judged rightly takes neither. */
const load = (file: string) => import(pathToFileURL(join(repository, 'bench', file)).href)
const { groups } = await load('rows/index.mjs')
const { judge } = await load('judge.mjs')
const { measure } = await load('measure.mjs')
const { dismissGuard, startProgram } = await load('processes.mjs')

interface Bar {
  against?: string
  of?: string
  value?: boolean
  text?: string
  atLeast?: number
  atMost?: number
  below?: number
}
interface Row {
  name: string
  holdfast?: string
  peers?: string[]
  floors?: Record<string, string>
  others?: string[]
  bars: Bar[]
}

describe('the rows of the bench', () => {
  const rows: { row: Row; contestants: string[] }[] = groups.flatMap((group: { rows: Row[]; contestants: object }) =>
    group.rows.map((row) => ({ row, contestants: Object.keys(group.contestants) })),
  )

  test('have names of their own, and compare only what is measured', () => {
    expect(new Set(rows.map(({ row }) => row.name)).size).toBe(rows.length)
    for (const { row, contestants } of rows) {
      const named = [row.holdfast ?? 'holdfast', ...(row.peers ?? []), ...Object.values(row.floors ?? {}), ...(row.others ?? [])]
      const inBars = row.bars.flatMap(({ against, of }) => [against, of]).filter((name) => name !== undefined)
      for (const name of [...named, ...inBars]) expect(contestants, row.name).toContain(name)
    }
  })

  test('have one limit a bar', () => {
    for (const { row } of rows) {
      for (const { atLeast, atMost, below } of row.bars) {
        expect([atLeast, atMost, below].filter((limit) => limit !== undefined)).toHaveLength(1)
      }
    }
  })

  test('have the number of each document as the bar of what it is about', () => {
    const { rows } = groups.find(({ name }: { name: string }) => name === 'documents')
    const asked = (rows as Row[]).flatMap(({ name, bars }) =>
      bars.map(({ text = '', atLeast, below }) => [name.replace('documents-', ''), atLeast ?? below, /\*(.*)\*/.exec(text)?.[1]]),
    )
    const [kafka, chapter] = ['Postgres Job Queue Over Kafka', 'Background Job Queue']
    expect(asked).toEqual([
      ['enqueue', 10, kafka],
      ['enqueue', 5, chapter],
      ['enqueue', 50, chapter],
      ['signup', 100, chapter],
      ['hundred', 50, chapter],
      ['claim', 50, kafka],
      ['poll', 10, kafka],
      ['poll', 100, chapter],
      ['settle', 10, kafka],
      ['start', 500, chapter],
      ['start', 100, chapter],
      ['start-polled', 2_000, 'Database-Driven Job Dispatch'],
      ['tasks', 5_000, 'PostgreSQL SKIP LOCKED as Task Queue'],
    ])
  })

  test('have sizes for a short, a full and a quick run', () => {
    for (const group of groups) {
      for (const size of ['quick', 'short', 'full']) expect(group.sizes[size].rounds, group.name).toBeGreaterThan(0)
    }
  })
})

describe('a row is judged', () => {
  const once = (value: number) => ({ rate: { median: value, lowest: value, highest: value, rounds: 1 } })
  const row = (bars: Bar[]) => ({ name: 'r', title: () => 'r', unit: 'jobs/s', figure: 'rate', peers: ['a', 'b'], bars })
  const bars = [
    { against: 'a', atLeast: 1.5 },
    { against: 'b', atLeast: 3 },
  ]

  test('met when every bar is, with the ratio of the hardest', () => {
    const found = judge(row(bars), {}, { holdfast: once(60), a: once(20), b: once(15) })
    expect(found).toMatchObject({ holdfast: 60, peers: { a: 20, b: 15 }, ratio: 4, met: true })
  })

  test('missed when one bar is, and a stretch neither helps nor hurts', () => {
    const stretch = { against: 'a', atLeast: 9, stretch: true }
    const figures = { holdfast: once(60), a: once(20), b: once(30) }
    expect(judge(row([...bars, stretch]), {}, figures)).toMatchObject({ ratio: 2, met: false })
    expect(judge(row([{ against: 'a', atLeast: 1.5 }, stretch] as Bar[]), {}, figures)).toMatchObject({ ratio: 3, met: true })
  })

  test('missed when there is nothing to compare with', () => {
    expect(judge(row(bars), {}, { holdfast: once(60), a: once(20) })).toMatchObject({
      peers: { b: null },
      ratio: null,
      met: false,
    })
  })

  test('by its own figure where the bar is a value', () => {
    expect(judge(row([{ value: true, atMost: 470 }]), {}, { holdfast: once(470) })).toMatchObject({ ratio: 1, met: true })
    expect(judge(row([{ value: true, below: 470 }]), {}, { holdfast: once(470) })).toMatchObject({ ratio: 1, met: false })
    expect(judge(row([{ value: true, atLeast: 100 }]), {}, { holdfast: once(150) })).toMatchObject({ ratio: 1.5, met: true })
    expect(judge(row([{ value: true, atLeast: 100 }]), {}, { holdfast: once(50) })).toMatchObject({ ratio: 0.5, met: false })
  })
})

describe('a group is measured', () => {
  const size = { rounds: 2 }
  const run = (group: object) => measure({ name: 'g', ...group }, { verbose: false }, size, () => {})
  const failing = async () => {
    throw new Error('there is no Redis\nat line 1')
  }

  test('with the others where one contestant fails, and says which', async () => {
    const { figures, problems } = await run({ contestants: { ours: async () => ({ rate: 7 }), theirs: failing } })
    expect(figures.ours.rate).toMatchObject({ median: 7, rounds: 2 })
    expect(problems).toEqual(['g, theirs: there is no Redis'])
  })

  test('not at all where its stage cannot be made, and says why', async () => {
    expect(await run({ open: failing, contestants: { ours: async () => ({ rate: 7 }) } })).toEqual({
      figures: {},
      problems: ['g: there is no Redis'],
    })
  })

  test('and keeps its figures where its stage does not close', async () => {
    const { figures, problems } = await run({
      open: async () => ({ close: failing }),
      contestants: { ours: async () => ({ rate: 7 }) },
    })
    expect(figures.ours.rate.median).toBe(7)
    expect(problems).toEqual(['g, closing: there is no Redis'])
  })
})

test('a process of the bench that is gone refuses calls, and the bench goes on', async () => {
  const program = await startProgram('event-loop', '')
  expect(await program.call('usage')).toMatchObject({ rss: expect.any(Number) })
  await program.kill()
  await expect(program.call('usage')).rejects.toThrow('Channel closed')
  await dismissGuard()
})
