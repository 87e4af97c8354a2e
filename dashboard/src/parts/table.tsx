import { type ReactNode, useRef } from 'react'
import { useRowsInView } from './rows-in-view.js'

export interface Column<Row> {
  readonly name: string
  /** In place of its name, at the head. */
  readonly head?: ReactNode
  /** Right-aligned, so that digits stand under each other. */
  readonly number?: boolean
  readonly cell: (row: Row) => ReactNode
}

interface TableProps<Row> {
  readonly label: string
  readonly rows: readonly Row[]
  readonly columns: readonly Column<Row>[]
  readonly keyOf: (row: Row) => string | number
  /** What stands there instead of no rows: why there are none, and what would make one. */
  readonly empty: ReactNode
  /** Stands at the end of each row: what can be done to it. */
  readonly acts?: (row: Row) => ReactNode
}

/** Rows under named columns; of a long list those that are seen. On a phone each row becomes a block that names its values, so that nothing is cut off. */
export function Table<Row>({ label, rows, columns, keyOf, empty, acts }: TableProps<Row>) {
  const body = useRef<HTMLTableSectionElement>(null)
  const { from, to, abovePx, belowPx } = useRowsInView(rows.length, body)
  if (rows.length === 0) return <div className="empty">{empty}</div>
  return (
    <div className="scroll">
      {/* biome-ignore-start lint/a11y/noRedundantRoles: laid out as blocks on a phone, it would stop being a table to screen readers */}
      <table aria-label={label} role="table" aria-rowcount={rows.length + 1}>
        <thead role="rowgroup">
          <tr role="row">
            {columns.map(({ name, number, head }) => (
              <th key={name} scope="col" role="columnheader" className={number ? 'number' : undefined}>
                {head ?? name}
              </th>
            ))}
            {acts && (
              <th scope="col" role="columnheader">
                <span className="unseen">Actions</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody role="rowgroup" ref={body}>
          {abovePx > 0 && <Gap px={abovePx} />}
          {rows.slice(from, to).map((row, at) => (
            <tr key={keyOf(row)} role="row" data-row={from + at} aria-rowindex={from + at + 2}>
              {columns.map(({ name, number, cell }) => (
                <td key={name} role="cell" data-label={name} className={number ? 'number' : undefined}>
                  {cell(row)}
                </td>
              ))}
              {acts && (
                <td role="cell" className="acts">
                  <div>{acts(row)}</div>
                </td>
              )}
            </tr>
          ))}
          {belowPx > 0 && <Gap px={belowPx} />}
        </tbody>
      </table>
      {/* biome-ignore-end lint/a11y/noRedundantRoles: see above */}
    </div>
  )
}

/** Rows that are not there. */
const Gap = ({ px }: { px: number }) => <tr className="gap" style={{ height: px }} />
