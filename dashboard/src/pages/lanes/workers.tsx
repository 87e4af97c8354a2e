import { type Fleet, useBuilds } from '../../api/answers.js'
import { pathOf } from '../../api/use.js'
import { Act } from '../../parts/act.js'
import { Card } from '../../parts/page.js'
import { Table } from '../../parts/table.js'
import { inWords, Moment } from '../../parts/time.js'

type Worker = Fleet['workers'][number]

/** Who works: where, since when, with what, how their processes are, and whether they are still there. */
export function Workers({ workers }: { workers: readonly Worker[] }) {
  const drained = useBuilds().data?.builds.filter((one) => one.drained !== null) ?? []
  const drainedBuilds = new Set(drained.map(({ build }) => build))
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
          { name: 'Worker', cell: (worker) => <Named worker={worker} /> },
          { name: 'Health', cell: (worker) => <Health worker={worker} /> },
          { name: 'Build', cell: ({ build, version }) => <BuildCell build={build} version={version} /> },
          { name: 'Types', cell: ({ types }) => <span title={types.join(', ')}>{types.length}</span>, number: true },
          { name: 'Jobs', number: true, cell: ({ jobs }) => jobs },
          { name: 'Lag', number: true, cell: ({ lag_ms }) => <Lag ms={lag_ms} /> },
          { name: 'Memory', number: true, cell: ({ memory_bytes }) => (memory_bytes === null ? '–' : megabytes(memory_bytes)) },
          { name: 'Connections', number: true, cell: ({ connections }) => connections ?? '–' },
          { name: 'Looked', number: true, cell: ({ looked_at }) => <Moment at={looked_at} /> },
          { name: 'Started', number: true, cell: ({ started_at }) => <Moment at={started_at} /> },
        ]}
        acts={(worker) => <WorkerActs worker={worker} withBuild={drainedBuilds.has(worker.build ?? '')} />}
      />
      {workers.length > 0 && (
        <p className="foot soft">
          Lag: how late the event loop of its process was. A dash: it has not said yet, or works over HTTP.
        </p>
      )}
    </Card>
  )
}

/** Its name, with where it runs beneath. */
function Named({ worker: { name, host, pid } }: { worker: Worker }) {
  return (
    <>
      {name}
      <div className="second">
        {host}, {pid}
      </div>
    </>
  )
}

/** Of its handlers; of Holdfast beneath. */
function BuildCell({ build, version }: { build: string | null; version: string }) {
  return (
    <>
      {build ?? '–'}
      <div className="second">Holdfast {version}</div>
    </>
  )
}

const lateFromMs = 500
const megabytes = (bytes: number) => `${Math.round(bytes / 1_048_576)} MB`

function Lag({ ms }: { ms: number | null }) {
  if (ms === null) return '–'
  return ms < lateFromMs ? (
    inWords(ms)
  ) : (
    <span className="status" data-status="failed">
      {inWords(ms)}
    </span>
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

/** One worker is told alone, or with all that run the same code; whoever was drained with them is resumed with them. */
function WorkerActs({ worker, withBuild }: { worker: Worker; withBuild: boolean }) {
  const { build, drained } = worker
  if (drained && build !== null && withBuild) return <ResumeBuild build={build} />
  return (
    <>
      {drained ? <Resume worker={worker} /> : <Drain worker={worker} />}
      {build !== null && <DrainBuild build={build} />}
    </>
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

function Resume({ worker }: { worker: Worker }) {
  return (
    <Act
      name="Resume"
      title={`Let ${worker.name} claim again?`}
      says="It hears so at once, or with its next heartbeat."
      needs="workers:manage"
      look="first"
      posts={`admin/workers/processes/${pathOf(worker.id)}/resume`}
      done={`${worker.name} claims again`}
    />
  )
}

function ResumeBuild({ build }: { build: string }) {
  return (
    <Act
      name="Resume build"
      title={`Let the workers of ${build} claim again?`}
      says="Every worker of this build claims jobs again, and so do those that start later."
      needs="workers:manage"
      look="first"
      posts={`admin/builds/${pathOf(build)}/resume`}
      done={`the workers of ${build} claim again`}
    />
  )
}

function DrainBuild({ build }: { build: string }) {
  return (
    <Act
      name="Drain build"
      title={`Let the workers of ${build} finish and claim no more?`}
      says="Every worker of this build finishes what it has and claims no more, also those that start later, until the build is resumed. Jobs wait for workers of other builds."
      needs="workers:manage"
      posts={`admin/builds/${pathOf(build)}/drain`}
      done={`the workers of ${build} are told to drain`}
    />
  )
}
