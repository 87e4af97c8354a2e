import type { Fleet } from '../../api/answers.js'
import { pathOf } from '../../api/use.js'
import { Act } from '../../parts/act.js'
import { Card } from '../../parts/page.js'
import { Table } from '../../parts/table.js'
import { inWords, Moment } from '../../parts/time.js'

type Worker = Fleet['workers'][number]

/** Who works: where, since when, with what, and whether they are still there. */
export function Workers({ workers }: { workers: readonly Worker[] }) {
  return (
    <Card title="Workers">
      <Table
        label="Workers"
        rows={workers}
        keyOf={({ id }) => id}
        empty={
          <>
            No worker lives. <code>npx holdfast work ./types.js</code> starts one; until then jobs wait and nothing is lost.
          </>
        }
        columns={[
          { name: 'Worker', cell: ({ name }) => name },
          { name: 'Health', cell: (worker) => <Health worker={worker} /> },
          { name: 'Host', cell: ({ host, pid }) => `${host}, ${pid}` },
          { name: 'Version', cell: ({ version }) => version },
          { name: 'Build', cell: ({ build }) => build },
          { name: 'Types', cell: ({ types }) => <span title={types.join(', ')}>{types.length}</span>, number: true },
          { name: 'Jobs', number: true, cell: ({ jobs }) => jobs },
          { name: 'Looked', number: true, cell: ({ looked_at }) => <Moment at={looked_at} /> },
          { name: 'Started', number: true, cell: ({ started_at }) => <Moment at={started_at} /> },
        ]}
        acts={(worker) =>
          worker.build === null ? <Drain worker={worker} /> : <DrainBuild worker={worker} build={worker.build} />
        }
      />
    </Card>
  )
}

function Health({ worker: { stalled, drained, silent_ms } }: { worker: Worker }) {
  if (drained && !stalled) {
    return (
      <span className="status" data-status="blocked">
        drained
      </span>
    )
  }
  return stalled ? (
    <span className="status" data-status="failed">
      silent for {inWords(silent_ms)}
    </span>
  ) : (
    <span className="status" data-status="completed">
      works
    </span>
  )
}

function Drain({ worker }: { worker: Worker }) {
  return (
    <Act
      name="Drain"
      title={`Let ${worker.name} finish and claim no more?`}
      says="It hears so at once, or with its next heartbeat. One that works on the database waits until it is stopped or resumed; one that works over HTTP ends."
      needs="workers:manage"
      posts={`admin/workers/processes/${pathOf(worker.id)}/drain`}
      done={`${worker.name} is told to drain`}
    />
  )
}

/** All workers that run the same code are told together. */
function DrainBuild({ worker: { drained }, build }: { worker: Worker; build: string }) {
  const at = `admin/builds/${pathOf(build)}`
  return drained ? (
    <Act
      name="Resume build"
      title={`Let the workers of ${build} claim again?`}
      says="Every worker of this build claims jobs again, and so do those that start later."
      needs="workers:manage"
      posts={`${at}/resume`}
      done={`the workers of ${build} claim again`}
    />
  ) : (
    <Act
      name="Drain build"
      title={`Let the workers of ${build} finish and claim no more?`}
      says="Every worker of this build finishes what it has and claims no more, also those that start later, until the build is resumed. Jobs wait for workers of other builds."
      needs="workers:manage"
      posts={`${at}/drain`}
      done={`the workers of ${build} are told to drain`}
    />
  )
}
