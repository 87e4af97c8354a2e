import type { Lane, Load } from '../../api/answers.js'
import { Count } from '../../parts/count.js'
import { Link } from '../../parts/link.js'
import { Card } from '../../parts/page.js'
import { SlotBar } from '../../parts/slots.js'
import { Table } from '../../parts/table.js'
import { inWords } from '../../parts/time.js'

interface LanesNowProps {
  readonly lanes: readonly Lane[]
  readonly loads: Readonly<Record<string, Load>>
  /** How many workers it would take to be done within a minute, and how many there are. */
  readonly wanted: number
  readonly alive: number
}

/** How fast each lane works, and when what waits will be done. */
export function LanesNow({ lanes, loads, wanted, alive }: LanesNowProps) {
  return (
    <Card title="Lanes" aside={<Wanted wanted={wanted} alive={alive} />}>
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

function Wanted({ wanted, alive }: { wanted: number; alive: number }) {
  const words = `${alive} ${alive === 1 ? 'worker' : 'workers'}, ${wanted} wanted`
  return (
    <span
      className="status"
      data-status={wanted > alive ? 'failed' : undefined}
      title="as many as GET /autoscale asks for: so that what waits is done within a minute"
    >
      {words}
    </span>
  )
}
