import type { LetterAnswer, ManyBody } from '../../../../src/api/dlq.js'
import { Link } from '../../parts/link.js'
import { Card } from '../../parts/page.js'
import { Table } from '../../parts/table.js'
import { Moment } from '../../parts/time.js'
import { groupsOf } from './groups.js'
import { MoveMany } from './move-many.js'

interface ErrorGroupsProps {
  readonly letters: readonly LetterAnswer[]
  /** Whether these are all. */
  readonly complete: boolean
  readonly asked: ManyBody['filter']
  readonly sensitive: readonly string[]
}

/** What the letters that are shown have in common. A thousand failures are mostly three errors. */
export function ErrorGroups({ letters, complete, asked, sensitive }: ErrorGroupsProps) {
  const groups = groupsOf(letters)
  return (
    <Card title="By type and error" aside={complete ? `of ${letters.length}` : `among the ${letters.length} newest`}>
      <Table
        label="By type and error"
        rows={groups}
        keyOf={({ type, error }) => `${type} ${error}`}
        empty=""
        columns={[
          {
            name: 'Error',
            cell: ({ type, error, common }) => (
              <>
                <Link to="/dead" query={{ type, error: common }}>
                  {type}
                </Link>
                <span className="second">{error}</span>
              </>
            ),
          },
          { name: 'Letters', number: true, cell: ({ count }) => count },
          { name: 'Last', number: true, cell: ({ last }) => <Moment at={last} /> },
        ]}
        acts={({ type, common }) => (
          <MoveMany filter={{ ...asked, type, ...(common && { error: common }) }} sensitive={sensitive} />
        )}
      />
    </Card>
  )
}
