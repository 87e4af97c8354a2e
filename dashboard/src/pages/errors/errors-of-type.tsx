import type { ErrorGroupAnswer } from '../../../../src/api/errors.js'
import { useAnswer } from '../../api/use.js'
import { Link } from '../../parts/link.js'
import { Card, Loaded } from '../../parts/page.js'
import { GroupTable } from './group-table.js'

/** What goes wrong in one type, the most first. */
export function ErrorsOfType({ type }: { type: string }) {
  const groups = useAnswer<{ groups: ErrorGroupAnswer[] }>('errors', { type, sort: 'count', limit: 5 }, { everyMs: 5_000 })
  return (
    <Card
      title="Errors"
      aside={
        <Link to="/errors" query={{ type }}>
          all of them
        </Link>
      }
    >
      <Loaded query={groups}>
        {({ groups: rows }) => <GroupTable groups={rows} over={7} ofOneType empty="No attempt failed in the last 7 days." />}
      </Loaded>
    </Card>
  )
}
