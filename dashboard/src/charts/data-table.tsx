import { useState } from 'react'
import { Table } from '../parts/table.js'
import type { ChartProps } from './line.js'

interface DataTableProps extends Pick<ChartProps, 'title' | 'times' | 'lines' | 'inWords'> {
  readonly timeOf: (seconds: number) => string
}

/** What a chart draws, in rows, the latest first: for those who do not see it, and for those who want the numbers. */
export function DataTable({ title, times, lines, inWords, timeOf }: DataTableProps) {
  const [open, setOpen] = useState(false)
  return (
    <details className="chart-data" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        As a table<span className="unseen">: {title}</span>
      </summary>
      {open && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keys
        <section aria-label={`Data of ${title}`} tabIndex={0}>
          <Table
            label={title}
            rows={times.map((_, at) => times.length - 1 - at)}
            keyOf={(at) => times[at] ?? at}
            empty="There is nothing."
            columns={[
              { name: 'Until', cell: (at) => timeOf(times[at] ?? 0) },
              ...lines.map(({ name, values }) => ({ name, number: true, cell: (at: number) => inCell(values[at], inWords) })),
            ]}
          />
        </section>
      )}
    </details>
  )
}

const inCell = (value: number | null | undefined, inWords: (value: number) => string) =>
  value === null || value === undefined ? '–' : inWords(value)
