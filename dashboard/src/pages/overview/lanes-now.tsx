import type { Lane, Load } from '../../api/answers.js'
import { Count } from '../../parts/count.js'
import { Link } from '../../parts/link.js'
import { Card } from '../../parts/page.js'
import { SlotBar } from '../../parts/slots.js'
import { Table } from '../../parts/table.js'
import { inWords } from '../../parts/time.js'

/** How fast each lane works, and when what waits will be done. */
export function LanesNow({ lanes, loads }: { lanes: readonly Lane[]; loads: Readonly<Record<string, Load>> }) {
  return (
    <Card title="Lanes">
      <Table
        label="Lanes"
        rows={lanes}
        keyOf={({ name }) => name}
        empty="No lane exists yet. The first worker makes the lane default."
        columns={[
          { name: 'Lane', cell: ({ name }) => <Link to="/lanes">{name}</Link> },
          { name: 'Slots in use', cell: (lane) => <SlotBar lane={lane} running={loads[lane.name]?.running ?? 0} /> },
          { name: 'Waiting', number: true, cell: ({ name }) => <Count count={loads[name]?.waiting ?? 0} /> },
          { name: 'Ends per s', number: true, cell: ({ name }) => (loads[name]?.ended_per_s ?? 0).toFixed(1) },
          { name: 'Drains in', number: true, cell: ({ name }) => drain(loads[name]) },
        ]}
      />
    </Card>
  )
}

/** When what waits now will have been done, at the speed of the last minute. */
export function drain(load: Load | undefined): string {
  if (!load || load.waiting === 0) return '–'
  return load.drain_s === null ? 'not at this speed' : inWords(load.drain_s * 1_000)
}
