import { lazy, Suspense } from 'react'
import type { ExecutionAnswer, TaskAnswer } from '../../../../src/api/executions.js'
import { pathOf, useAnswer, usePages } from '../../api/use.js'
import { Fact, Facts } from '../../parts/facts.js'
import { Json } from '../../parts/json.js'
import { Link } from '../../parts/link.js'
import { More } from '../../parts/more.js'
import { Card, Loaded, Page } from '../../parts/page.js'
import { Shares } from '../../parts/shares.js'
import { inWords, Moment, useNow } from '../../parts/time.js'
import { useMay } from '../../session/session.js'
import { ExecutionActs } from './execution-acts.js'
import { ExecutionStatus, stateOf } from './execution-status.js'
import { TaskTable } from './task-table.js'

const Graph = lazy(async () => ({ default: (await import('./graph.js')).Graph }))

/** One execution: its graph as it stands now, and its tasks. */
export function Execution({ id }: { id: string }) {
  const execution = useAnswer<ExecutionAnswer>(`executions/${pathOf(id)}`)
  const { list, rows } = usePages<TaskAnswer, 'tasks'>(`executions/${pathOf(id)}/tasks`, 'tasks', { limit: 100 })
  const tasks = rows.filter(({ item }) => item === null)
  return (
    <Page title={execution.data?.workflow ?? 'Workflow'} aside={<span className="mono id">{id}</span>}>
      <Loaded query={execution}>
        {(data) => (
          <div className="stack">
            <ExecutionActs execution={data} tasks={tasks.map(({ name }) => name)} />
            <Card>
              <div className="inset">
                <Shares
                  label="Tasks by status"
                  shares={Object.entries(data.tasks).map(([status, count]) => ({
                    status: stateOf(status),
                    words: status,
                    count,
                  }))}
                />
              </div>
              <ExecutionFacts execution={data} />
            </Card>
            {tasks.length > 0 && (
              <Card title="Graph">
                <Suspense fallback={<p className="empty">Drawing …</p>}>
                  <Graph tasks={tasks} items={rows.filter(({ item }) => item !== null)} />
                </Suspense>
              </Card>
            )}
            <Card title="Tasks">
              <TaskTable tasks={rows} />
              <More list={list} />
            </Card>
            <div className="grid">
              <Card title="Input">
                <Json value={data.input} label="input" />
              </Card>
              {data.output !== undefined && (
                <Card title="Output">
                  <Json value={data.output} label="output" />
                </Card>
              )}
            </div>
          </div>
        )}
      </Loaded>
    </Page>
  )
}

function ExecutionFacts({ execution: data }: { execution: ExecutionAnswer }) {
  const now = useNow()
  const seesDead = useMay('workers:view')
  const took = (data.ended_at === null ? now : Date.parse(data.ended_at)) - Date.parse(data.created_at)
  return (
    <Facts>
      <Fact name="Status">
        <ExecutionStatus status={data.status} />
      </Fact>
      <Fact name="Version">{data.version}</Fact>
      <Fact name="Started">
        <Moment at={data.created_at} /> {data.owner && `by ${data.owner}`}
      </Fact>
      <Fact name={data.ended_at === null ? 'Runs for' : 'Took'}>{inWords(took)}</Fact>
      {seesDead && data.tasks.dead > 0 && (
        <Fact name="Dead letters">
          <Link to="/dead" query={{ batch: data.id }}>
            those of its tasks
          </Link>
        </Fact>
      )}
      {data.parent_id && (
        <Fact name="Part of">
          <Link to={`/workflows/${data.parent_id}`}>another execution</Link>
        </Fact>
      )}
      {data.rerun_of && (
        <Fact name="Rerun of">
          <Link to={`/workflows/${data.rerun_of}`}>another execution</Link>, from {data.rerun_from}
        </Fact>
      )}
    </Facts>
  )
}
